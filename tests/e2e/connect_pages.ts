// The real gateway with two administrators and a client of its settings file, and its pages opened.

import type { Page } from "../packages/playwright.ts";
import { PASSWORD } from "../fakes/console_app.ts";
import { type RunningGateway, startGateway } from "../support/gateway.ts";
import type { Slapd } from "../support/slapd.ts";
import { signIn } from "./browser.ts";

const ADMINS = ["owner", "viewer"].map((name) =>
  `[[console.admin]]
name = "${name}"
password = "${PASSWORD}"
role = "${name}"
`
).join("\n");
const OTHER_CLIENT = `[[radius.client]]
name = "of-file"
address = ["192.0.2.1"]
secret = "the secret of the file"
`;

/** The embedded store and a slapd as the two backends of the target. */
export const targetWith = (slapd: Slapd, mode: "sync" | "async") => `
[targets.default.backends.local]
kind = "store"

[targets.default.backends.ldap]
kind = "ldap"
mode = "${mode}"
url = "${slapd.url}"
bind_dn = "${slapd.bindDn}"
bind_password = "${slapd.bindPassword}"
users_dn = "${slapd.usersDn}"
groups_dn = "${slapd.groupsDn}"
timeout_ms = 2000
`;

/** A gateway with these settings and the administrators. */
export const start = (toml = OTHER_CLIENT) => startGateway({ toml: `${toml}\n${ADMINS}` });

/** Signs in and opens a page. */
export async function enter(
  page: Page,
  { gateway, path, heading, role = "owner" }: {
    gateway: RunningGateway;
    path: string;
    heading: string;
    role?: string;
  },
): Promise<void> {
  await page.goto(`${gateway.httpUrl}/live`);
  await signIn(page, role);
  await page.goto(gateway.httpUrl + path);
  await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
}
