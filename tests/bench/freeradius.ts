// FreeRADIUS 3.2 beside the gateway: as a server that stores nothing, and as one that stores what the gateway stores,
// in SQLite or PostgreSQL.

import { DatabaseSync } from "node:sqlite";
import { encodeBase32 } from "@std/encoding/base32";
import { freeUdpPort } from "../support/free_port.ts";
import { BENCH_DISK, BENCH_PASSWORD, BENCH_SECRET, TOTP_SEED_HEX } from "./gateway.ts";
import { type Postgresql, startPostgresql } from "./postgresql.ts";
import { type MeasuredServer, type ServerOptions, startPeer } from "./peer.ts";

/** What fills the places of freeradius.conf. */
interface Policy {
  /** Of all numbers of worker threads, the one that was fastest on two cores. */
  readonly workers: number;
  readonly modules: string;
  readonly authorize: string;
  readonly authenticate: string;
}

// One worker: 23,000/s against 18,000/s with two and 15,000/s with five, every request new.

/** The same challenge for every login. */
const STATIC_CHALLENGE: Policy = {
  workers: 1,
  modules: "",
  authorize: `
    update control {
      &Response-Packet-Type := Access-Challenge
    }
    update reply {
      &Message-Authenticator := 0x00
      &State := 0x000102030405060708090a0b0c0d0e0f
      &Reply-Message := "Enter the code that was sent to your phone"
    }
    handled`,
  authenticate: "",
};

/** An Accept to the right password, of any user. */
const PASSWORD_CHECK: Policy = {
  workers: 1,
  modules: `
  pap {
    normalise = no
  }`,
  authorize: `
    update control {
      &Cleartext-Password := "${BENCH_PASSWORD}"
    }
    update reply {
      &Message-Authenticator := 0x00
    }
    pap`,
  authenticate: `
    Auth-Type PAP {
      pap
    }`,
};

/** How a database is used. Each `%{sql:…}` is one statement and one commit. */
interface Dialect {
  readonly workers: number;
  /** The lines of rlm_sql that name the database. */
  readonly connection: string;
  /** Ends the login: removes its state, keeps the time step, adds the history. Its result is 1 unless the code was used. */
  readonly accept: string;
}

/** The right password stores a challenge. A right code is accepted if its time step and its State are not used. */
function storingPolicy({ workers, connection, accept }: Dialect): Policy {
  return {
    workers,
    modules: `
  expr {
  }
  totp {
  }
  sql {
    ${connection}
    sql_user_name = "%{User-Name}"
    read_clients = no
    read_groups = no
    read_profiles = no
    pool {
      start = ${workers}
      min = ${workers}
      max = ${workers}
      spare = 0
      uses = 0
      lifetime = 0
      idle_timeout = 0
    }
  }`,
    authorize: `
    update reply {
      &Message-Authenticator := 0x00
    }
    if (!&State) {
      if (&User-Password != "${BENCH_PASSWORD}") {
        reject
      }
      update request {
        &Tmp-String-0 := "%{randstr:hhhhhhhhhhhhhhhh}"
      }
      if ("%{sql:insert into states values ('%{Tmp-String-0}', '%{User-Name}', '%{Packet-Src-IP-Address}', %l)}" != 1) {
        reject
      }
      update control {
        &Response-Packet-Type := Access-Challenge
      }
      update reply {
        &State := "%{Tmp-String-0}"
        &Reply-Message := "Enter your code"
      }
      handled
    }
    update control {
      &TOTP-Secret := "%{sql:select secret from tokens where username = '%{User-Name}'}"
      &Auth-Type := TOTP
    }
    update request {
      &TOTP-Password := &User-Password
    }`,
    authenticate: `
    Auth-Type TOTP {
      totp
      if ("%{sql:${accept}}" != 1) {
        reject
      }
    }`,
  };
}

const SCHEMA = `
create table states (state text primary key, username text not null, source text not null, started bigint not null);
create table tokens (username text primary key, secret text not null, last_step bigint not null);
create table history (username text, client text, source text, outcome text, factor text, ended bigint);`;
const TOTP_SECRET = encodeBase32(Uint8Array.fromHex(TOTP_SEED_HEX));

/**
 * The write-ahead log, synced at each commit. SQLite has one writer, so more workers only wait for each other. A trigger
 * makes the end of a login one commit: four statements would take four.
 */
const sqlite = (file: string): Dialect => ({
  workers: 1,
  connection: `driver = "rlm_sql_sqlite"
    dialect = "sqlite"
    sqlite {
      filename = "${file}"
      busy_timeout = 5000
    }
    open_query = "pragma synchronous = full"`,
  accept: "delete from states where state = '%{string:State}' and username = '%{User-Name}' and exists (" +
    "select 1 from tokens where tokens.username = states.username and last_step < strftime('%%s', 'now') / 30)",
});

const SQLITE_SCHEMA = `
pragma journal_mode = wal;
${SCHEMA}
create trigger accepted after delete on states begin
  update tokens set last_step = strftime('%s', 'now') / 30 where username = old.username;
  insert into history values (old.username, 'bench', old.source, 'accepted', 'totp', strftime('%s', 'now'));
end;
with recursive numbers (n) as (select 0 union all select n + 1 from numbers limit @USERS@)
  insert into tokens select printf('user%05d', n), '${TOTP_SECRET}', 0 from numbers;
pragma wal_checkpoint (truncate);`;

/** The end of a login is one statement, so one commit. Commits of several workers share a sync. */
const postgresql = ({ host, database, user }: Postgresql): Dialect => ({
  workers: 16,
  connection: `driver = "rlm_sql_postgresql"
    dialect = "postgresql"
    server = "${host}"
    login = "${user}"
    radius_db = "${database}"`,
  accept:
    "with ended as (delete from states where state = '%{string:State}' and username = '%{User-Name}' returning *), " +
    "used as (update tokens set last_step = %{expr:%l / 30} from ended where tokens.username = ended.username " +
    "and last_step < %{expr:%l / 30} returning ended.*) " +
    "insert into history select username, 'bench', source, 'accepted', 'totp', %l from used returning 1",
});

const POSTGRESQL_SCHEMA = `${SCHEMA}
insert into tokens select 'user' || lpad(n::text, 5, '0'), '${TOTP_SECRET}', 0 from generate_series(0, @USERS@ - 1) n;
vacuum analyze;
checkpoint;`;

/** FreeRADIUS without storage: it does not know its users, so it accepts any number of them. */
export async function startFreeradius({ users }: ServerOptions): Promise<MeasuredServer> {
  return await start("FreeRADIUS", {
    directory: await newDirectory(),
    policy: users > 0 ? PASSWORD_CHECK : STATIC_CHALLENGE,
  });
}

/** FreeRADIUS with rlm_totp, and rlm_sql on SQLite. */
export async function startFreeradiusSqlite({ users }: ServerOptions): Promise<MeasuredServer> {
  const directory = await newDirectory();
  const file = `${directory}/peer.db`;
  const database = new DatabaseSync(file);
  database.exec(SQLITE_SCHEMA.replace("@USERS@", String(users)));
  database.close();
  return await start("FreeRADIUS with SQLite", { directory, policy: storingPolicy(sqlite(file)) });
}

/** FreeRADIUS with rlm_totp, and rlm_sql on a PostgreSQL of its own. */
export async function startFreeradiusPostgresql({ users }: ServerOptions): Promise<MeasuredServer> {
  const directory = await newDirectory();
  const database = await startPostgresql(directory, POSTGRESQL_SCHEMA.replace("@USERS@", String(users)));
  return await start("FreeRADIUS with PostgreSQL", {
    directory,
    policy: storingPolicy(postgresql(database)),
    database,
  });
}

function newDirectory(): Promise<string> {
  return Deno.makeTempDir({ dir: BENCH_DISK, prefix: "countersign-bench-freeradius-" });
}

async function start(
  name: string,
  { directory, policy, database }: { directory: string; policy: Policy; database?: Postgresql },
): Promise<MeasuredServer> {
  const port = freeUdpPort();
  const template = await Deno.readTextFile(new URL("./freeradius.conf", import.meta.url));
  const places = { RUN: directory, PORT: port, SECRET: `"${BENCH_SECRET}"`, WORKERS: policy.workers };
  const sections = {
    MODULES: policy.modules,
    AUTHORIZE: policy.authorize,
    AUTHENTICATE: policy.authenticate,
  };
  const settings = Object.entries({ ...places, ...sections }).reduce(
    (text, [place, value]) => text.replaceAll(`@${place}@`, () => String(value)),
    template,
  );
  await Deno.writeTextFile(`${directory}/peer.conf`, settings);
  return await startPeer({
    name,
    port,
    directory,
    command: ["/usr/sbin/freeradius", "-f", "-n", "peer", "-d", directory],
    totpSeedHex: policy.modules.includes("totp") ? TOTP_SEED_HEX : null,
    database,
  });
}
