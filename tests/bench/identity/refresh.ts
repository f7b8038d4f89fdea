// Refreshes a whole target from a real slapd, twice, in this process: refresh.ts <data directory> <users>. The second
// time nothing has changed.

import { startSlapd } from "../../support/slapd.ts";
import type { Target } from "../../../scim/ports.ts";
import type { RefreshReport } from "../../../scim/backend_port.ts";
import { openIdentity } from "./open_identity.ts";
import { ldifOf, personAt } from "./people.ts";

export interface RefreshFigures {
  readonly firstPerSecond: number;
  readonly againPerSecond: number;
  /** Memory of the refreshing process (without slapd's), after both. */
  readonly residentMb: number;
}

const ACTOR = { name: "refresh", source: "" } as const;
const PROGRESS_EVERY_MS = 2000;
const USERS_DN = "ou=people,dc=example,dc=org";

/** Throws when a fault occurred, or when the counts are not as expected. */
export async function refreshTwice(
  dataDir: string,
  { users, say }: { users: number; say: (line: string) => void },
): Promise<RefreshFigures> {
  const entries = Array.from({ length: users }, (_, at) => ldifOf(personAt(at), USERS_DN)).join("\n");
  say("  loading slapd");
  const slapd = await startSlapd({ entries });
  try {
    const toml = `
[targets.default.backends.directory]
kind = "ldap"
url = "${slapd.url}"
bind_dn = "${slapd.bindDn}"
bind_password = "${slapd.bindPassword}"
users_dn = "${slapd.usersDn}"
groups_dn = ""
schema = "openldap"
timeout_ms = 30000
`;
    await using opened = await openIdentity(dataDir, { toml });
    const target = opened.identity.targets.get(opened.identity.logins.name) as Target;
    const first = await timed(target, { users, say });
    if (first.report.created !== users) throw unexpected(first.report);
    const again = await timed(target, { users, say });
    if (again.report.unchanged !== users) throw unexpected(again.report);
    return {
      firstPerSecond: first.perSecond,
      againPerSecond: again.perSecond,
      residentMb: Deno.memoryUsage().rss / 1e6,
    };
  } finally {
    await slapd.dispose();
  }
}

function unexpected(report: RefreshReport): Error {
  return new Error(`Cannot measure the refresh: ${JSON.stringify(report)}`);
}

async function timed(
  target: Target,
  { users, say }: { users: number; say: (line: string) => void },
): Promise<{ report: RefreshReport; perSecond: number }> {
  const startedMs = performance.now();
  const seconds = () => (performance.now() - startedMs) / 1000;
  let saidS = 0;
  const report = await target.refreshAll(ACTOR, {
    onProgress({ read }) {
      if ((seconds() - saidS) * 1000 < PROGRESS_EVERY_MS) return;
      saidS = seconds();
      say(`  ${read.toLocaleString("en-US")} read, ${Math.round(read / saidS)}/s`);
    },
  });
  return { report, perSecond: users / seconds() };
}

if (import.meta.main) {
  const [dataDir = "", users = ""] = Deno.args;
  const figures = await refreshTwice(dataDir, { users: Number(users), say: (line) => console.error(line) });
  console.log(JSON.stringify(figures));
}
