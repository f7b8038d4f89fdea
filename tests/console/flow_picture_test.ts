// The picture of the flow table: every step stands in it once, and every way in it is one that the table has.

import { assert, assertEquals } from "@std/assert";
import { flowPicture } from "../../console/api/conversations/flow_layout.ts";
import { STEPS } from "../../radius/protocol/steps.ts";

const { nodes, edges } = flowPicture();
const has = (from: string, to: string) => edges.some((edge) => edge.from === from && edge.to === to);

Deno.test("flowPicture() places every step and both ends, no two at one place", () => {
  const expected = ["start", ...Object.keys(STEPS), "accepted", "rejected"];
  assertEquals(nodes.map(({ name }) => name as string).toSorted(), expected.toSorted());
  assertEquals(new Set(nodes.map(({ column, line }) => `${column} ${line}`)).size, nodes.length);
});

Deno.test("flowPicture() draws the ways of the table through its passages, and none that it lacks", () => {
  assert(has("start", "CHOOSE_WHICH_MULTIFACTOR"));
  assert(has("start", "SECONDFACTOR_AWAIT_DEVICE_APPROVAL"));
  assert(has("SECONDFACTOR_AWAIT_DEVICE_APPROVAL", "accepted"));
  assert(has("GET_SMS_PHONE_NUMBER", "VERIFY_SMS_PHONE_NUMBER"));
  assert(!has("GET_SMS_PHONE_NUMBER", "accepted"));
});
