// User-Names of packets: the remembered result is always that of the packet.

import { assert, assertEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { PacketView } from "../../radius/protocol/packet.ts";
import { isRefusedUserName, stripUserName } from "../../radius/protocol/login_input.ts";
import { UserNames } from "../../radius/server/user_names.ts";
import { configOf } from "../platform/config/samples.ts";

const plain = configOf("").radius.anyClient;
const stripping = { ...plain, stripDomains: ["CORP"], stripRealms: ["corp.example"] };

function viewOf(name: Uint8Array): PacketView {
  const view = new PacketView();
  const length = 20 + (name.length === 0 ? 0 : 2 + name.length);
  const octets = new Uint8Array(length);
  octets.set([1, 1, length >> 8, length & 255]);
  if (name.length > 0) octets.set([1, name.length + 2, ...name], 20);
  assertEquals(view.read(octets, octets.length), null);
  return view;
}

Deno.test("UserNames read() returns the same for a remembered name, and for each policy its own result", () => {
  const name = fc.oneof(
    fc.constantFrom("ada", "Ada", "CORP\\ada", "ada@corp.example", " ada", "a\u200bda", "", "Ádám"),
    fc.string({ unit: "binary", maxLength: 60 }),
  );
  const names = new UserNames();
  fc.assert(fc.property(fc.array(name, { maxLength: 20 }), fc.boolean(), (list, isStripping) => {
    const policy = isStripping ? stripping : plain;
    for (const one of [...list, ...list]) {
      const octets = new TextEncoder().encode(one).subarray(0, 200);
      const shown = stripUserName(new TextDecoder("utf-8", { ignoreBOM: true }).decode(octets), policy);
      const read = names.read(viewOf(octets), policy);
      assertEquals([read.shown, read.canonical, read.isRefused], [
        shown,
        canonicalName(shown),
        isRefusedUserName(shown),
      ]);
    }
  }));
});

Deno.test("UserNames read() reads a remembered name without decoding it again", () => {
  const names = new UserNames();
  const view = viewOf(new TextEncoder().encode("ada"));
  const first = names.read(view, plain);
  assert(first === names.read(view, plain));
});
