// The links of System status and of "Needs attention": each row leads to a page or a setting that exists.

import { assert, assertEquals } from "@std/assert";
import { HEALTH_KINDS, type HealthPart } from "../../console/api/targets/target_types.ts";
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { matchRoute } from "../../console/web/app/routes.ts";
import { activateCatalogue } from "../../console/web/i18n/translate.ts";
import { healthLink } from "../../console/web/pages/health/health_links.ts";
import { attentionItems } from "../../console/web/pages/overview/attention_panel.tsx";
import { settingHref } from "../../console/web/pages/settings/setting_topics.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import type { SettingsAnswer } from "../../console/api/settings/setting_routes.ts";

// Group: english
activateCatalogue("en", en);

const PLAIN = { lastGoodMs: null, figure: 1, detail: "", testable: false } as const;
/** Rows whose link depends on the problem, besides one of each kind. */
const NOTES: readonly Partial<HealthPart>[] = [
  { kind: "second_factor", note: "loopback_url" },
  { kind: "telephony", note: "not_sent" },
  { kind: "mail", note: "mail_off" },
  { kind: "mail", note: "mail_waits" },
  { kind: "push", push: "loopback" },
  { kind: "push", push: "needs_https" },
  { kind: "push", push: "no_key" },
  { kind: "push", push: "unused" },
];
const parts = [...HEALTH_KINDS.map((kind): Partial<HealthPart> => ({ kind })), ...NOTES].map((part) =>
  ({ id: `${part.kind}:default/ldap`, name: "default", state: "bad", ...PLAIN, ...part }) as HealthPart
);

Deno.test("each row of System status that is a problem has a link to a page or a setting that exists", async () => {
  await using site = await startPeopleConsole();
  const viewer = apiCaller(site, await site.signIn("viewer"));
  const { settings } = await viewer<SettingsAnswer>("/console/api/settings");
  const anchors = new Set(settings.map(settingHref));
  const links = [
    ...parts.map(healthLink),
    ...attentionItems({ counts: null, parts, clients: [], firstSteps: [], from: "" }),
  ];
  assert(links.length > 2 * HEALTH_KINDS.length);
  for (const { href, action } of links) {
    const { pathname, hash } = new URL(href, "http://console");
    assert(matchRoute(pathname) !== null, href);
    assert(pathname !== "/health", "a row of System status does not lead to itself");
    if (pathname.startsWith("/settings/")) assertEquals(anchors.has(pathname + hash), true, href);
    assert(action !== "");
  }
});
