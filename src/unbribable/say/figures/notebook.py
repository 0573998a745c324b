"""A matplotlib figure that a notebook shows as it is, without any magic."""

import io

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """Holds changing state, as every figure: one that is a picture where a cell ends with it."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """What Jupyter asks for: twice as fine as it is shown, for screens that can show that."""
        image = io.BytesIO()
        self.savefig(image, format="png", dpi=192)
        width, height = (round(96 * float(inches)) for inches in self.get_size_inches())
        return image.getvalue(), {"width": width, "height": height}
