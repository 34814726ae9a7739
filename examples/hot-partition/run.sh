#!/bin/sh
# Heats one key range of a table, then splits it while clients read and write. Prints the hottest partitions, the split,
# the longest time that a client had to wait, and the heat map before and after the split.
#
#     examples/hot-partition/run.sh [--quick]        PARTITA=target/release/partita
#
# Needs only the partita program: $PARTITA, or the build of this tree, or the one on the PATH. Starts a server in a
# temporary directory.
set -eu

partitions=400 rows=10 windows=3
case ${1-} in
--quick) partitions=200 rows=2 windows=1 ;;
'') ;;
*)
    sed -n 's/^# \{0,1\}//; 2,8p' "$0" >&2
    exit 2
    ;;
esac

here=$(cd "$(dirname "$0")" && pwd)
built=$here/../../target/release/partita
if [ -z "${PARTITA-}" ]; then
    if [ -x "$built" ]; then PARTITA=$built; else PARTITA=$(command -v partita); fi
fi
partita() { "$PARTITA" "$@"; }
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

work=$(mktemp -d)
server="" heaters="" writer="" connection=""
# Stops all processes on every exit.
finish() {
    touch "$work/stop"
    for pid in $heaters $writer $server; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 2' INT TERM HUP

# Starts a server on free ports. If the admin port is taken, the server ends at once and the script tries the next port.
port=$((20000 + $$ % 20000))
mkfifo "$work/says"
while [ -z "${connection-}" ]; do
    port=$((port + 1))
    # Does not call the function `partita`, because $! would then be the process id of a shell.
    "$PARTITA" serve --location "$work/data" --table-port 0 --admin-port $port --table-host 127.0.0.1 >"$work/says" 2>"$work/talk" &
    server=$!
    while read -r line; do
        case $line in
        DefaultEndpointsProtocol=*)
            connection=$line
            break
            ;;
        esac
    done <"$work/says"
    if [ -z "${connection-}" ] && ! grep -q 'admin-port chooses' "$work/talk"; then
        cat "$work/talk" >&2
        exit 1
    fi
done
export AZURE_STORAGE_CONNECTION_STRING="$connection"
export PARTITA_ADMIN="http://127.0.0.1:$port"

say "A table of $partitions sensors, $rows readings each"
partita table create readings
seq 0 $((partitions - 1)) | while read -r sensor; do
    seq 1 "$rows" | while read -r reading; do
        printf '{"PartitionKey":"sensor-%03d","RowKey":"%03d","Celsius":%d}\n' "$sensor" "$reading" $((sensor % 40))
    done
done >"$work/rows"
partita entity insert readings --stdin <"$work/rows" >"$work/inserted"
partita ranges --output table

# Reads a tenth of the sensors, one row for each request. Stops after the current scan.
first=$(printf 'sensor-%03d' $((partitions / 4)))
behind=$(printf 'sensor-%03d' $((partitions / 4 + partitions / 10)))
heat() {
    while [ ! -e "$work/stop" ]; do
        "$PARTITA" scan readings --from "$first" --before "$behind" --page-rows 1 --strategy serial >"$work/read" 2>&1 || exit 1
    done
}
# Writes to one of these sensors, one write after the other, and records the duration of each.
probe=$(printf 'sensor-%03d' $((partitions / 4 + partitions / 20)))
write() {
    while [ ! -e "$work/stop" ]; do
        "$PARTITA" entity upsert readings "$probe" probe Celsius:int32=21 2>&1 >"$work/written" | tail -n 1 >>"$work/writes"
    done
}
: >"$work/writes"
heat &
heaters=$!
heat &
heaters="$heaters $!"
write &
writer=$!

# Prints the number of columns of the heat map; a column covers 10 s.
columns() {
    { "$PARTITA" heat --table readings --last 10m --width 200 --output jsonl 2>/dev/null || true; } |
        sed -n 's/.*"time":"\([^"]*\)".*/\1/p' | sort -u | wc -l
}
# Waits for $1 more complete columns. A column ends whenever the seconds of the clock are a multiple of ten.
more_columns() {
    wanted=$(($(columns) + $1))
    while [ "$(columns)" -lt "$wanted" ]; do sleep 1; done
}

say "Sensors $first to $behind get hot"
more_columns $((windows + 1))
partita hot --limit 5 --output table 2>"$work/advice"
cat "$work/advice"
say "The heat map before: one range has all the load"
partita heat --table readings --width 80 --color never --output table

# Executes the command that `partita hot` advises, twice. The second split divides the half that is still hot.
for turn in 1 2; do
    partita hot --limit 1 --output table >"$work/hot" 2>"$work/advice"
    advised=$(sed -n 's/^range.*: partita \(admin split .*\)$/\1/p' "$work/advice" | head -n 1)
    if [ -z "$advised" ]; then
        echo "partita hot did not advise a split:" >&2
        cat "$work/advice" >&2
        exit 1
    fi
    say "Split $turn: partita $advised"
    before=$(wc -l <"$work/writes")
    # On a busy machine a split may be rolled back, because writes would wait too long. Then the script tries again.
    tries=0
    until eval "partita $advised --output table"; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || exit 1
    done
    # Waits for ten more writes: the later ones came after those that had to wait for the split.
    while [ "$(wc -l <"$work/writes")" -lt $((before + 10)) ]; do sleep 0.1; done
    more_columns $windows
done

say "The ranges now"
partita ranges --output table
say "The heat map after: the hot keys are in several ranges"
partita heat --table readings --width 80 --color never --output table
say "The partitions that were hottest until now"
partita heat --table readings --partitions --rows 5 --width 80 --color never --output table
partita status --output table | head -n 7

touch "$work/stop"
# shellcheck disable=SC2086 # the variable holds several ids
wait $heaters $writer
heaters='' writer=''
say "How long a client had to wait"
if grep -v '^1 entity upserted' "$work/writes"; then
    echo "these writes failed" >&2
    exit 1
fi
sed 's/.* \([0-9.]*\) s$/\1/' "$work/writes" | sort -n >"$work/seconds"
count=$(wc -l <"$work/seconds")
printf '%d writes to a hot partition, one after the other, none failed: half took at most %s s, the longest %s s\n' \
    "$count" "$(sed -n "$(((count + 1) / 2))p" "$work/seconds")" "$(tail -n 1 "$work/seconds")"
ranges=$(partita ranges --output csv 2>/dev/null | wc -l)
[ "$ranges" -eq 4 ] || { echo "expected three ranges" >&2; exit 1; }
