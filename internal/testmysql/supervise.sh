# usage: sh -c SCRIPT supervise USERS LINGER RUNDIR MARIADBD ARG...
# Runs the server until nobody has held a lock on USERS for LINGER seconds.
users=$1 linger=$2 rundir=$3
shift 3
exec 9<>"$users"
trap '' HUP INT

"$@" 9>&- &
server=$!
echo "$server" >"$rundir/pid"

while flock 9 && flock -u 9; do # wait until nobody uses it
	sleep "$linger"         # the next test process may be about to start
	if flock -n 9; then break; fi
done

# The lock is held until the server is gone, so a newcomer waits and starts its own.
kill "$server" 2>/dev/null
wait "$server"
rm -rf "$rundir"
