"""Be the liar in a real browser: with the mouse, by keyboard alone, there and back, on a phone."""

import pytest

from long.browser.conftest import serving


def wait_for_round(page, n, of=10):
    words = f"Round {n} of {of}" if n <= of else f"All {of} rounds played"
    page.get_by_text(words).wait_for()


def begin(tab, address, **words):
    page = tab(address + "&rounds=10&seed=1&threat=weak&budget=2", **words)
    wait_for_round(page, 1)
    return page


def test_a_whole_game_with_the_mouse(served, tab):
    page = begin(tab, served())
    for n in range(1, 11):
        knob = page.locator('[data-seat="0-0"] .knob').bounding_box()
        x, y = knob["x"] + knob["width"] / 2, knob["y"] + knob["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, y + 30, steps=3)
        page.mouse.up()
        if n == 1:
            assert "this round: −0." in page.locator("#cost-0").inner_text()
            lies = page.locator('[data-seat="0-0"]').get_attribute("aria-valuenow")
            assert float(lies) < -0.2
        page.get_by_role("button", name="Tell these readings").click()
        wait_for_round(page, n + 1)
    assert page.locator("#verdict tbody tr").count() == 5
    assert page.locator("#verdict h2").inner_text().startswith(("Fooled", "Wrong", "Right"))
    assert page.locator(".panel .moved").count() > 3
    assert page.get_by_role("button", name="Tell these readings").is_disabled()


def test_a_whole_game_by_keyboard_alone_and_the_address_replays_it(served, tab):
    address = served()
    page = begin(tab, address)
    for _ in range(60):  # from the top of the page to the first reading
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.seat") == "0-0":
            break
    for n in range(1, 11):
        assert page.evaluate("document.activeElement.dataset.seat") == "0-0"
        page.keyboard.press("Shift+ArrowDown")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        wait_for_round(page, n + 1)
    assert page.evaluate("document.activeElement.id") == "verdict"
    shown = page.locator("#verdict").inner_text()
    lies = page.locator(".panel").first.locator(".moved").count()
    assert lies == 10
    again = tab(page.url.replace("/?token", "/?ignored"))
    wait_for_round(again, 11)
    assert again.locator("#verdict").inner_text() == shown


def test_reload_and_the_back_button_show_the_position_of_the_address(served, tab):
    page = begin(tab, served())
    for n in (2, 3):
        page.get_by_role("button", name="1 round").click()
        wait_for_round(page, n)
    before = page.locator("#panels").inner_html()
    page.reload()
    wait_for_round(page, 3)
    assert page.locator("#panels").inner_html() == before
    page.go_back()
    wait_for_round(page, 2)
    page.go_forward()
    wait_for_round(page, 3)
    assert page.locator("#panels").inner_html() == before
    page.get_by_role("button", name="to the end").click()
    wait_for_round(page, 11)
    page.go_back()
    wait_for_round(page, 3)
    assert page.locator("#verdict").is_hidden()


def test_a_move_is_one_request(served, tab):
    page = tab(served() + "&rounds=10&seed=2&threat=weak&budget=2")
    wait_for_round(page, 1, 10)
    for n in range(2, 11):
        page.get_by_role("button", name="Tell these readings").click()
        wait_for_round(page, n, 10)
    entries = "performance.getEntriesByType('resource').filter((e) => e.name.includes('moves='))"
    assert page.evaluate(f"{entries}.length") == 9


def test_a_strong_liar_sees_one_point_and_a_weak_one_the_proposal(served, tab):
    page = tab(served() + "&rounds=10&moves=h3")
    wait_for_round(page, 4)
    assert page.locator('[data-seat^="4-"]').count() == 2
    page.get_by_label("You see").select_option("strong")
    page.get_by_role("button", name="New game").click()
    wait_for_round(page, 1)
    assert "threat=strong" in page.url
    page.get_by_role("button", name="1 round").click()
    wait_for_round(page, 2)
    assert page.locator('[data-seat^="4-"]').count() == 1


def test_when_the_budget_is_spent_the_end_is_offered_and_then_another_game(served, tab):
    page = begin(tab, served())
    assert page.locator("#spent").is_hidden()
    page.get_by_label("same lie to all who ask nearby").uncheck()
    for n in (2, 3):  # a budget of 2, and no lie exceeds 1
        for each in page.locator("[data-seat]").all():
            each.focus()
            page.keyboard.press("Home")
        page.get_by_role("button", name="Tell these readings").click()
        wait_for_round(page, n)
    assert page.get_by_text(" 0 left").count() == 5
    page.get_by_role("button", name="Play to the end with nobody lying").click()
    wait_for_round(page, 11)
    assert page.url.endswith(".o8")
    assert page.locator("#spent").is_hidden()
    panel = page.get_by_role("article").filter(has_text="How wrong they are")
    assert panel.locator("path.line").count() == 5
    page.get_by_role("button", name="Play again").click()
    wait_for_round(page, 1)
    assert "seed=2" in page.url


def test_a_fooled_learner_is_marked_in_the_curve_and_the_verdict(served, tab):
    page = tab(served() + "&seed=1&threat=weak&budget=2&rounds=40&moves=h40")
    page.locator("#verdict").wait_for()
    heading = page.locator("#verdict h2").inner_text()
    assert heading.startswith("Fooled: GP-UCB")
    assert "Right: RobustGPUCB" in heading
    panel = page.get_by_role("article").filter(has_text="How wrong they are")
    assert panel.locator("g path.lie").count() > 20


def test_a_server_that_is_gone_is_named(tab):
    with serving() as address:
        page = begin(tab, address)
    tab.refused = 2  # the move, and perhaps the icon
    page.get_by_role("button", name="Tell these readings").click()
    page.get_by_text("“unbribable page” has ended").wait_for()


def test_a_wrong_path_leads_back(served, tab):
    tab.refused = 1
    page = tab(served().replace("/?", "/studdy?"))
    page.get_by_text("There is nothing at this address").wait_for()
    page.get_by_role("link", name="Be the liar").click()
    wait_for_round(page, 1, of=40)


def test_an_address_that_holds_no_game_says_so(served, tab):
    tab.refused = 1
    page = tab(served() + "&moves=nonsense")
    page.get_by_text("a move must be").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_screen(served, tab, scheme):
    page = begin(tab, served(), width=360, height=740, color_scheme=scheme, has_touch=True)
    boxes = [page.locator(name).first.bounding_box() for name in ("#tell", ".panel", ".panel svg")]
    assert all(box["x"] >= 0.0 and box["x"] + box["width"] <= 360 for box in boxes)
    page.get_by_role("button", name="to the end").click()
    wait_for_round(page, 11)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_phone_shows_one_learner_at_a_time_and_a_wide_screen_all(served, tab):
    page = begin(tab, served(), width=390, height=844, has_touch=True)
    panels = page.locator("#panels > .panel")
    shown = [panels.nth(k).is_visible() for k in range(6)]
    assert shown == [True, *[False] * 5]
    page.locator('[data-seat="0-0"]').focus()
    page.keyboard.press("Shift+ArrowDown")
    assert "lie 0.25" in page.get_by_role("button", name="GP-UCB", exact=False).first.inner_text()
    ladder = page.locator("#seats button").nth(2)
    ladder.tap()
    assert ladder.get_attribute("aria-pressed") == "true"
    assert [panels.nth(k).is_visible() for k in range(6)] == [False, False, True, *[False] * 3]
    page.get_by_role("button", name="Tell these readings").tap()
    wait_for_round(page, 2)
    assert panels.nth(2).is_visible(), "after a round it is the same learner"
    assert page.evaluate("document.documentElement.scrollHeight") < 2 * 844
    page.get_by_role("button", name="How wrong they are").tap()
    assert page.get_by_text("How much better the peak is").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 900})
    assert all(panels.nth(k).is_visible() for k in range(6))
    assert page.locator("#seats").is_hidden()
