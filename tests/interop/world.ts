// The real program between real peers and a pretended second-factor and telephony service, both over HTTP.

import { type FakeSecondFactor, startFakeSecondFactor } from "../fakes/second_factor_server.ts";
import { type FakeTelephony, startFakeTelephony } from "../fakes/telephony_server.ts";
import { type RunningGateway, startGateway } from "../support/gateway.ts";

export { totpCode } from "../support/totp.ts";

/** Everything that one run of logins needs. */
export interface World extends AsyncDisposable {
  readonly gateway: RunningGateway;
  readonly secondFactor: FakeSecondFactor;
  readonly telephony: FakeTelephony;
  /** Gives `user` a factor with `deno task pair`. Throws with the command's words when it refuses. */
  pair(user: string, ...args: string[]): Promise<void>;
}

/** Starts the fakes, and the gateway with them as its services. `toml` is laid over these settings. */
export async function startWorld(toml = ""): Promise<World> {
  const [secondFactor, telephony] = await Promise.all([startFakeSecondFactor(), startFakeTelephony()]);
  const stopFakes = () => Promise.all([secondFactor.close(), telephony.close()]);
  const settings = `
[factors.device]
continue_wait_ms = 100
[second_factor]
url = "${secondFactor.url}"
consumer_key = "${secondFactor.consumerKey}"
consumer_secret = "${secondFactor.consumerSecret}"
[telephony]
url = "${telephony.url}"
account_id = "${telephony.accountId}"
auth_token = "${telephony.authToken}"
from = "${telephony.from}"
${toml}`;
  const gateway = await startGateway({ toml: settings }).catch(async (fault: unknown) => {
    await stopFakes();
    throw fault;
  });
  return {
    gateway,
    secondFactor,
    telephony,
    async pair(user, ...args) {
      const ended = await gateway.pair(user, ...args);
      if (ended.code !== 0) throw new Error(`Cannot pair ${user}: ${ended.stdout}${ended.stderr}`);
    },
    async [Symbol.asyncDispose]() {
      await gateway.dispose();
      await stopFakes();
    },
  };
}
