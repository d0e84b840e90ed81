#!/bin/sh
# Copies the primary into an empty volume, and follows it. The name of the cluster is the one that the primary waits for.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  rm -rf "$PGDATA"
  pg_basebackup --pgdata="$PGDATA" --write-recovery-conf --wal-method=stream --checkpoint=fast
fi
exec postgres -D "$PGDATA" -c cluster_name=standby "$@"
