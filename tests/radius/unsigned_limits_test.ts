// Limits of unsigned requests: for each source address, and for all requests together that do not prove the secret.

import { assertEquals } from "@std/assert";
import { UnsignedLimits } from "../../radius/server/unsigned_requests.ts";
import type { Request } from "../../radius/server/request.ts";
import { PacketView } from "../../radius/protocol/packet.ts";
import { buildRequest } from "../support/radius_packets.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

const STATE = new TextEncoder().encode("CHOOSE_WHICH_MULTIFACTOR");

function viewOf(state?: Uint8Array): PacketView {
  const view = new PacketView();
  const { bytes } = buildRequest("s", { userName: "ada", ...(state === undefined ? {} : { state }) });
  view.read(bytes, bytes.length);
  return view;
}

/** The properties of a request that the limits read. */
function request(
  parts: { source?: string; signed?: boolean; proven?: boolean; anyAddress?: boolean },
): Request {
  const { source = "192.0.2.1", signed = false, proven = false, anyAddress = false } = parts;
  return { source, signed, proven, client: { anyAddress } } as unknown as Request;
}

const count = (times: number, test: (at: number) => boolean) =>
  Array.from({ length: times }, (_, at) => test(at)).filter(Boolean).length;

Deno.test("a signed login is not limited, and neither is an answer", () => {
  const limits = new UnsignedLimits(createManualClock());
  const signed = request({ signed: true, proven: true });
  assertEquals(count(10_000, () => limits.mayBegin(signed, viewOf())), 10_000);
  assertEquals(count(1000, () => limits.mayBegin(request({}), viewOf(STATE))), 1000);
});

Deno.test("unsigned logins of one source: fewer without a readable password, and they do not use up the limit of the others", () => {
  const clock = createManualClock();
  const limits = new UnsignedLimits(clock);
  assertEquals(count(5000, () => limits.mayBegin(request({}), viewOf())), 100);
  assertEquals(count(5000, () => limits.mayBegin(request({ proven: true }), viewOf())), 1000);
  clock.advance(1000);
  assertEquals(count(5000, () => limits.mayBegin(request({}), viewOf())), 50);
  assertEquals(count(5000, () => limits.mayBegin(request({ proven: true }), viewOf())), 500);
});

Deno.test("unsigned logins from invented sources share a limit if they do not prove the secret", () => {
  const limits = new UnsignedLimits(createManualClock());
  const flood = (at: number) => limits.mayBegin(request({ source: `10.0.${at >> 8}.${at & 255}` }), viewOf());
  assertEquals(count(5000, flood), 2000);
  assertEquals(limits.mayBegin(request({ source: "192.0.2.9", proven: true }), viewOf()), true);
});

Deno.test("Rejects without a conversation are limited per source, and counted once where any address is accepted", () => {
  const limits = new UnsignedLimits(createManualClock());
  assertEquals(count(1000, () => limits.mayReject(request({ proven: true }))), 100);
  assertEquals(count(1000, () => limits.mayReject(request({ signed: true, proven: true }))), 1000);
  // The server used the token of such a request when it arrived.
  assertEquals(count(1000, () => limits.mayReject(request({ anyAddress: true }))), 1000);
});
