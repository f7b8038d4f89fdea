// `deno task mail-test` as an operator runs it.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { planMailTest } from "../../cli/test_mail.ts";
import { startSmtpServer } from "../fakes/smtp_server.ts";
import { openOperator } from "./operator.ts";

const PLANS: readonly (readonly [args: readonly string[], plan: ReturnType<typeof planMailTest>])[] = [
  [["ada@example.org"], { to: "ada@example.org" }],
  [["ada@example.org", "--language", "de"], { to: "ada@example.org", language: "de" }],
  [["ada@example.org", "--language", "fr"], "the language must be en or de"],
  [[], "the address is missing"],
  [["a@example.org", "b@example.org"], "there is more than one address"],
];

for (const [args, plan] of PLANS) {
  Deno.test(`planMailTest() of ${JSON.stringify(args)}`, () => assertEquals(planMailTest(args), plan));
}

Deno.test("deno task mail-test sends a message, or says why the server did not accept it", async () => {
  const server = await startSmtpServer();
  try {
    const toml =
      `[mail]\nhost = "127.0.0.1"\nport = ${server.port}\nsecurity = "none"\nfrom = "a@example.com"\n`;
    await using operator = await openOperator({ toml });
    const sent = await operator.run("test_mail", "ada@example.org", "--language", "de");
    assertEquals([sent.code, sent.stderr], [0, ""]);
    assertMatch(sent.stdout, /^The mail server accepted the message \(\d+ ms\)\.\n/);
    assertMatch(server.received[0]?.data ?? "", /^Subject: Testnachricht/m);
    server.answer = (command) => command.startsWith("RCPT") ? "550 5.1.1 No such user" : null;
    const refused = await operator.run("test_mail", "ada@example.org");
    assertEquals([refused.code, refused.stdout], [1, ""]);
    assertStringIncludes(refused.stderr, "550 5.1.1 No such user");
  } finally {
    await server.close();
  }
});

Deno.test("deno task mail-test without a server in the settings says so", async () => {
  await using operator = await openOperator();
  const { code, stderr } = await operator.run("test_mail", "ada@example.org");
  assertEquals(code, 1);
  assertStringIncludes(stderr, "No mail server is configured");
});
