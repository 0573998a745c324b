#!/bin/sh
# A shell-driven instrument: every step is one command, and the study lives in a database, so the
# script may be killed and started again at any time. Usage: instrument.sh [ROUNDS]
set -eu

STUDY=laser
ROUNDS=${1:-12}

measure() { # a stand-in for the instrument: reads power, prints a number; every ninth reading is a lie
    if [ $(($2 % 9)) -eq 8 ]; then echo 9.0; else
        awk -v p="$1" -v n="$2" 'BEGIN { srand(n); print 3 - (p - 2) * (p - 2) + 0.05 * (rand() - 0.5) }'
    fi
}

unbribable study status "$STUDY" >/dev/null 2>&1 ||
    unbribable study create "$STUDY" --param power=0:5 --trials "$ROUNDS" --seed 7

for _ in $(seq "$ROUNDS"); do
    line=$(unbribable study ask "$STUDY") # for example: 3 power=1.25
    number=${line%% *}
    power=${line##*power=}
    if value=$(measure "$power" "$number"); then
        unbribable study tell "$STUDY" "$number" -- "$value"
    else
        unbribable study tell "$STUDY" "$number" --failed
    fi
done

unbribable study suspects "$STUDY"
unbribable study recommend "$STUDY"
