// The slapd of the tests, when another process has taken its port.

import { assert, assertEquals } from "@std/assert";
import { viewOf } from "../rows/ldap_view.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { startSlapd } from "../../support/slapd.ts";

testNeeding(
  { peers: ["slapd"] },
  "start() of a stopped slapd waits until another process has left its port",
  async () => {
    const slapd = await startSlapd();
    try {
      await slapd.stop();
      const port = Number(slapd.url.split(":").at(-1));
      const other = Deno.listen({ hostname: "127.0.0.1", port });
      let isTaken = true;
      setTimeout(() => {
        isTaken = false;
        other.close();
      }, 300);
      await slapd.start();
      assert(!isTaken, "start() took the other process for slapd");
      assertEquals((await viewOf(slapd).entry(slapd.usersDn))?.ou, ["people"]);
    } finally {
      await slapd.dispose();
    }
  },
);
