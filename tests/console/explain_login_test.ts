// Explanations: every flow row that rejects and every drop reason has one.

import { assert, assertEquals } from "@std/assert";
import {
  explainLogin,
  explainStray,
  REASON_CODES,
  reasonOfRow,
  reasonOfStray,
  ROW_REASONS,
  STRAY_REASONS,
} from "../../console/api/conversations/explain_login.ts";
import { DENIED_ROW, PAIRING_DENIED_ROW } from "../../radius/conversation/conversation.ts";
import { DENIAL_CAUSES, type DenialCause } from "../../radius/conversation/login_record.ts";
import { DROP_REASONS } from "../../radius/protocol/drop_reasons.ts";
import { FLOW } from "../../radius/flow/flow.ts";
import { REQUEST_REFUSALS } from "../../radius/server/request.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";
import { flowLayout } from "../../console/api/conversations/flow_layout.ts";
import { STEPS } from "../../radius/protocol/steps.ts";
import de from "../../console/web/i18n/de.json" with { type: "json" };
import en from "../../console/web/i18n/en.json" with { type: "json" };

Deno.test("ROW_REASONS has a reason for every row that rejects, and no unknown rows", () => {
  const rejecting = FLOW.filter(({ to }) => to === "reject").map(({ name }) => name);
  assertEquals(rejecting.filter((row) => !(row in ROW_REASONS)), []);
  const known = new Set([
    ...FLOW.map(({ name }) => name),
    "gone",
    "expired",
    "superseded",
    "user_left",
    "user_renamed",
    "not_me",
    DENIED_ROW,
    PAIRING_DENIED_ROW,
  ]);
  assertEquals(Object.keys(ROW_REASONS).filter((row) => !known.has(row)), []);
});

Deno.test("STRAY_REASONS has every drop reason and every refusal outside a login", () => {
  const expected = [...Object.keys(DROP_REASONS), ...Object.keys(REQUEST_REFUSALS)];
  assertEquals([...STRAY_REASONS].toSorted(), expected.toSorted());
});

Deno.test("reasonOfRow() gives the reason why a user was refused, where it is known", () => {
  assertEquals(reasonOfRow("refused"), "user_refused");
  assertEquals(reasonOfRow("refused", { refusedFor: "locked" }), "user_locked");
  assertEquals(reasonOfRow("code_wrong", { refusedFor: "locked" }), "passcode_wrong");
  assertEquals(reasonOfRow("a row of another version"), "other");
  assertEquals(reasonOfStray("constructor"), "other");
  assert(REASON_CODES.includes("user_locked"));
});

Deno.test("reasonOfRow() names the actor who denied a push, and stays general for a record without a cause", () => {
  const reasons = Object.fromEntries(
    Object.keys(DENIAL_CAUSES).map((cause) => [
      cause,
      reasonOfRow("not_approved", { denial: { cause: cause as DenialCause } }),
    ]),
  );
  assertEquals(reasons, {
    phone: "denied_on_phone",
    wrong_number: "wrong_number",
    wrong_passcode: "passcode_wrong",
    administrator: "denied_by_administrator",
    cancelled_by_administrator: "cancelled_by_administrator",
    expired: "push_expired",
    replaced: "push_replaced",
    revoked: "phone_revoked",
    service: "denied_at_service",
  });
  assertEquals(reasonOfRow("not_approved"), "phone_denied");
  assertEquals(reasonOfRow("otp_wrong", { denial: { cause: "administrator" } }), "denied_by_administrator");
  assertEquals(reasonOfRow("otp_wrong", { denial: { cause: "service" } }), "passcode_wrong");
});

Deno.test("explainLogin() gives the seconds until the phone denied, and the steps that led there", () => {
  const view = conversation(1);
  const asked = view.moments[1]?.atMs ?? 0;
  const explanation = explainLogin(
    ended(view, { outcome: "rejected", row: "not_approved", atMs: asked + 6230 }),
  );
  assertEquals(explanation?.code, "phone_denied");
  assertEquals(explanation?.values.seconds, 6.2);
  assertEquals(explanation?.evidence.map(({ row }) => row), ["no_first_factor", "pushed", "not_approved"]);
});

Deno.test("explainLogin() explains nothing for a login in progress or an accepted one", () => {
  const view = conversation(1);
  assertEquals(explainLogin(view), null);
  assertEquals(explainLogin(ended(view, { outcome: "accepted", row: "approved", atMs: 1 })), null);
});

Deno.test("explainStray() counts the packets of the source in this streak, and gives its beginning", () => {
  const reason = "wrong_message_authenticator";
  const stray = {
    ...{ id: 1, reason, source: "192.0.2.1", client: "vpn-1", answered: false, lastMs: 900, inbound: true },
    ...{ atMs: 800, copies: 1, verdict: reason, hex: "", rows: [] },
  };
  const tally = { reason, source: "192.0.2.1", client: "vpn-1", count: 14, firstMs: 100, lastMs: 900 };
  assertEquals(explainStray(stray, tally), {
    code: reason,
    values: { source: "192.0.2.1", client: "vpn-1", count: 14, sinceMs: 100 },
    evidence: [],
  });
});

const { nodes, edges } = flowLayout();
const has = (from: string, to: string) => edges.some((edge) => edge.from === from && edge.to === to);

Deno.test("flowLayout() places every step and both ends, no two at the same place", () => {
  const expected = ["start", ...Object.keys(STEPS), "accepted", "rejected"];
  assertEquals(nodes.map(({ name }) => name as string).toSorted(), expected.toSorted());
  assertEquals(new Set(nodes.map(({ column, line }) => `${column} ${line}`)).size, nodes.length);
});

Deno.test("flowLayout() draws the transitions of the table through its passages, and no others", () => {
  assert(has("start", "CHOOSE_WHICH_MULTIFACTOR"));
  assert(has("start", "SECONDFACTOR_AWAIT_DEVICE_APPROVAL"));
  assert(has("SECONDFACTOR_AWAIT_DEVICE_APPROVAL", "accepted"));
  assert(has("GET_SMS_PHONE_NUMBER", "VERIFY_SMS_PHONE_NUMBER"));
  assert(!has("GET_SMS_PHONE_NUMBER", "accepted"));
});

Deno.test("each reason of a login has a short text, for the list and its filter", () => {
  const drops = new Set<string>(STRAY_REASONS);
  const reasons = REASON_CODES.filter((code) => !drops.has(code) && code !== "other");
  for (const texts of [en, de]) {
    assertEquals(reasons.filter((code) => !(`explain.short_${code}` in texts)), []);
  }
});

Deno.test("each event of the audit log has a label of its own, so that the filter lists none twice", () => {
  for (const texts of [en, de]) {
    const labels = Object.entries(texts).flatMap(([key, text]) =>
      key.startsWith("audit.event_") ? [text] : []
    );
    assertEquals(labels.filter((one, at) => labels.indexOf(one) !== at), []);
  }
});
