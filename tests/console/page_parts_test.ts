// Parts of pages that depend on an answer or on input: a share, a sentence, a checkbox.

import { signal } from "@preact/signals";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { h } from "preact";
import type { EnrolmentAnswer } from "../../console/api/reports/enrolment.ts";
import { PLAIN_PART } from "../../console/api/health/health_parts.ts";
import type { HealthPart } from "../../console/api/targets/target_types.ts";
import type { Models } from "../../console/web/app/app_context.ts";
import type { Resource } from "../../console/web/app/resource.ts";
import { activateCatalogue } from "../../console/web/i18n/translate.ts";
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { healthLink } from "../../console/web/pages/health/health_links.ts";
import { healthText } from "../../console/web/pages/health/health_page.tsx";
import { OutcomeFields } from "../../console/web/pages/policies/policy_dialog.tsx";
import { EvaluationPanel } from "../../console/web/pages/policies/policy_evaluation.tsx";
import { contentOf, draftOf } from "../../console/web/pages/policies/policy_form.ts";
import { EnrolmentPanel } from "../../console/web/pages/reports/enrolment_panel.tsx";
import { fieldRow } from "../../console/web/components/fields_dialog.tsx";
import { FormFault, FormFields } from "../../console/web/components/form_fields.tsx";
import { secret, text } from "../../platform/fields.ts";
import type { MessageKey } from "../../console/web/i18n/catalogue.ts";
import { ApiFailure } from "../../console/web/app/api_client.ts";
import { openFakePage, rendered } from "../fakes/dom.ts";

// Group: english
activateCatalogue("en", en);

Deno.test("FormFields() marks the field that the API does not accept, and no other", async () => {
  await using page = openFakePage();
  const draft = signal({ host: "a", port: "b" });
  const rows = [{ name: "host", label: "common.name" }, { name: "port", label: "common.name" }] as const;
  const fault = new ApiFailure("bad_field", { message: "Not a port.", field: "port" });
  const fields = h(FormFields<{ host: string; port: string }>, { prefix: "f", draft, rows });
  await page.show(h(FormFault.Provider, { value: fault }, fields));
  const inputs = page.root.all("input").map(({ attributes }) =>
    ["id", "aria-invalid", "aria-describedby"].map((name) => attributes.get(name))
  );
  assertEquals(inputs, [["f-host", undefined, undefined], ["f-port", "true", "f-port-problem"]]);
  assertStringIncludes(page.root.textContent, "Not a port.");
});

Deno.test("fieldRow() lets a stored secret stay empty, and no other field of an object that is changed", () => {
  const key = (name: string) => `alerts.${name}` as MessageKey;
  const rowOf = (field: Parameters<typeof fieldRow>[1]["field"]) =>
    fieldRow({ key }, { name: "url", field, draft: {}, isNew: false, isSet: true });
  const bounds = { max: 9, isRequired: true, hasHint: true } as const;
  const [stored, other] = [rowOf(secret(bounds)), rowOf(text(bounds))];
  assertEquals([stored.hint, stored.input?.required], ["alerts.keep_hint", false]);
  assertEquals([other.hint, other.input?.required], ["alerts.url_hint", true]);
});

Deno.test("EnrolmentPanel() shows no share of the active users at the active users", async () => {
  await using page = openFakePage();
  const counts = { active: 8, enrolled: 4, numberOnly: 2, without: 2, neverSignedIn: 0 };
  const one = { users: 0, unused: 0 };
  const factors = { device: one, sms: one, voice: one, totp: one };
  const inactive = { 30: 0, 60: 0, 90: 0 };
  const report = { ...counts, atMs: 0, counted: 8, total: 8, factors, inactive };
  const answer = {
    state: signal({ kind: "ready", value: { report, progress: null } }),
    ...{ busy: signal(false), problem: signal(null) },
  } as unknown as Resource<EnrolmentAnswer>;
  const models = { clock: { nowMs: signal(0) }, preferences: {} } as unknown as Models;
  await page.show(h(EnrolmentPanel, { models, answer }));
  const tiles = page.root.all("li").map(({ textContent }) => textContent);
  assertEquals(tiles.find((one) => one.startsWith("Active users")), "Active users8");
  assertEquals(tiles.slice(0, 5).map((one) => one.includes("%")), [false, true, true, true, true]);
});

for (
  const [address, said] of [
    ["", "Enter a Calling-Station-Id to evaluate networks."],
    ["aa-bb-cc-dd-ee-ff", "This Calling-Station-Id is not an IP address"],
  ] as const
) {
  Deno.test(`EvaluationPanel() says for the Calling-Station-Id "${address}": ${said}`, async () => {
    await using page = openFakePage();
    const answer = {
      ...{ policy: null, effect: { kind: "challenge", factors: [], attributes: {} }, status: "active" },
      ...{ groups: [], isAddress: false, verdicts: [] },
    };
    const props = { page: { clients: [] }, calls: { evaluate: () => Promise.resolve(answer) } };
    await page.show(h(EvaluationPanel, props as unknown as Parameters<typeof EvaluationPanel>[0]));
    const field = page.root.all("input").find(({ attributes }) => attributes.get("id") === "try-address");
    Object.assign(field ?? {}, { value: address });
    field?.fire("input");
    page.root.all("form")[0]?.fire("submit");
    await rendered();
    assertStringIncludes(page.root.textContent, said);
  });
}

const PART = { ...PLAIN_PART, id: "one", state: "unknown" } as const;
const PARTS: readonly (readonly [what: string, part: HealthPart, text: string, href: string])[] = [
  ["messages", { ...PART, kind: "alerts", name: "chat", figure: 2 }, "2 messages wait", "/alerts"],
  ["any address", { ...PART, kind: "unsigned", name: "any" }, "No signed request yet.", "/clients"],
  ["a client", { ...PART, kind: "unsigned", name: "vpn" }, "No signed request yet.", "/clients/vpn"],
];
for (const [what, part, text, href] of PARTS) {
  Deno.test(`System status names and links a row of ${what}`, () => {
    assertStringIncludes(healthText(part), text);
    assertEquals(healthLink(part).href, href);
  });
}

Deno.test("OutcomeFields() offers names outside the directory for an acceptance only, and off at first", async () => {
  await using page = openFakePage();
  const draft = signal({ ...draftOf(null), name: "Lab" });
  await page.show(h(OutcomeFields, { draft, factors: [] }));
  const label = "Also for names outside the directory";
  assertEquals(page.root.textContent.includes(label), false);
  draft.value = { ...draft.value, kind: "bypass" };
  await rendered();
  assertStringIncludes(page.root.textContent, label);
  const box = page.root.all("label").find(({ textContent }) => textContent.includes(label))?.all("input")[0];
  assertEquals([draft.value.unknownUsers, box?.attributes.get("checked")], [false, undefined]);
  Object.assign(box ?? {}, { checked: true });
  box?.fire("change");
  assertEquals(draft.value.unknownUsers, true);
  assertEquals(contentOf(draft.value).outcome, { kind: "bypass", unknownUsers: true });
});
