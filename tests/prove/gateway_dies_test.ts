// The gateway is killed while it holds a relayed login: it comes back, or another node takes the login over. The keys are those
// of the first Access-Accept, and the user gets one push.

import { assertEquals } from "@std/assert";
import { type FakeSecondFactor, startFakeSecondFactor } from "../fakes/second_factor_server.ts";
import { startCluster } from "../support/cluster.ts";
import { type EapMethodName, EAPOL_NEEDS, runEapolTest } from "../support/eapol_test.ts";
import { FIRST_PASSWORD, type FreeRadius, FREERADIUS_NEEDS, startFreeRadius } from "../support/freeradius.ts";
import { startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { openWire } from "../support/udp_wire.ts";
import { eventually } from "../upstream/manual_clock.ts";

const SECRET = "shared-with-the-access-point";
const PHONE = "phone-of-ada";

const PEERS = [...FREERADIUS_NEEDS.peers, ...EAPOL_NEEDS.peers];
const METHODS = ["PEAP/MSCHAPV2", "MSCHAPV2"] as const;

const settingsOf = (first: FreeRadius, secondFactor: FakeSecondFactor) => `
[second_factor]
url = "${secondFactor.url}"
consumer_key = "${secondFactor.consumerKey}"
consumer_secret = "${secondFactor.consumerSecret}"
[[radius.client]]
name = "wifi"
address = ["127.0.0.1"]
secret = "${SECRET}"
first_factor = "radius"
first_factor_server = { address = "127.0.0.1:${first.port}", secret = "${first.secret}" }
unknown_users = "allow"
eap_outer_identity = "reply"
hold_s = 60
`;

/** A login through the port; `whileHeld` happens after the push and before its approval. */
async function login(
  scene: { first: FreeRadius; secondFactor: FakeSecondFactor },
  { port, method, whileHeld }: { port: number; method: EapMethodName; whileHeld: () => Promise<void> },
): Promise<void> {
  const { first, secondFactor } = scene;
  const act = async () => {
    // The gateway asks for the decision after it has recorded that the push was sent. A crash before that costs a retry (ADR 2).
    const push = () => secondFactor.initiated().at(0);
    await eventually(
      "the gateway waits for the decision",
      () =>
        secondFactor.requests.some(({ method, target }) =>
          method === "GET" && target.includes(push()?.id ?? " ")
        ),
    );
    await whileHeld();
    secondFactor.decide(push()?.id ?? "", { granted: true });
  };
  const [run] = await Promise.all([
    runEapolTest({
      ...{ port, secret: SECRET, method, user: "ada", password: FIRST_PASSWORD },
      ...{ caFile: first.caFile, timeoutS: 60 },
    }),
    act(),
  ]);
  assertEquals([run.outcome, run.keys], ["accept", "equal"], run.text.slice(-3000));
  assertEquals(secondFactor.initiated().length, 1);
}

for (const method of METHODS) {
  testNeeding({ peers: PEERS }, `${method}: kill -9 of the gateway that holds, and a restart`, async () => {
    await using first = await startFreeRadius();
    await using stack = new AsyncDisposableStack();
    const secondFactor = await startFakeSecondFactor();
    stack.defer(() => secondFactor.close());
    await using gateway = await startProgram({ toml: settingsOf(first, secondFactor) });
    await gateway.pair("ada", "--device", PHONE);
    await login({ first, secondFactor }, {
      ...{ port: gateway.radiusPort, method },
      async whileHeld() {
        await gateway.kill9();
        await first.kill();
        await gateway.restart();
      },
    });
  });
}

for (const method of METHODS) {
  testNeeding(
    { peers: PEERS, denokv: true },
    `${method}: kill -9 of the node that holds, and another node`,
    async () => {
      await using first = await startFreeRadius();
      await using stack = new AsyncDisposableStack();
      const secondFactor = await startFakeSecondFactor();
      stack.defer(() => secondFactor.close());
      await using cluster = await startCluster({ toml: settingsOf(first, secondFactor) });
      await cluster.node(0).pair("ada", "--device", PHONE);
      await using wire = openWire(cluster.node(0).radiusPort);
      await login({ first, secondFactor }, {
        ...{ port: wire.port, method },
        async whileHeld() {
          await cluster.node(0).kill9();
          await first.kill();
          wire.leadTo(cluster.node(1).radiusPort);
        },
      });
    },
  );
}
