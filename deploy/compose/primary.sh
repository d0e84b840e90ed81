#!/bin/sh
# Runs once, when the volume of the primary is created: prepares it for a synchronous standby.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$POSTGRES_PASSWORD" --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
create role replicator with replication login password :'password';
-- Read at the next start. Before that, no commit of this initialisation waits for the standby.
alter system set synchronous_standby_names = 'standby';
SQL
echo 'host replication replicator all scram-sha-256' >> "$PGDATA/pg_hba.conf"
