// Who may do what at the help desk, and to whom.

import { assertEquals } from "@std/assert";
import { commonRole, isAllowed, ROLES } from "../../console/api/auth/admin_records.ts";
import { isAdministrator } from "../../console/api/help_desk/help_desk.ts";
import { openHelpDesk } from "./help_desk_site.ts";

const ONE_USE = { uses: 1, minutes: 60 };

Deno.test("isAllowed() and commonRole(): neither the help desk nor the operator includes the other", () => {
  const included = ROLES.map((role) => [role, ROLES.filter((needs) => isAllowed(role, needs))]);
  assertEquals(included, [
    ["viewer", ["viewer"]],
    ["help_desk", ["viewer", "help_desk"]],
    ["operator", ["viewer", "operator"]],
    ["user_manager", ["viewer", "help_desk", "operator", "user_manager"]],
    ["owner", [...ROLES]],
  ]);
  for (const one of ROLES) {
    for (const other of ROLES) {
      const common = commonRole(one, other);
      assertEquals(common, commonRole(other, one));
      assertEquals([isAllowed(one, common), isAllowed(other, common)], [true, true], `${one} and ${other}`);
    }
  }
  assertEquals(commonRole("help_desk", "operator"), "viewer");
});

Deno.test("operators verify callers, and issue no bypass codes; viewers do neither", async () => {
  await using site = await openHelpDesk();
  const { pairingId } = await site.pair("ada");
  const outcomes = async (role: "viewer" | "operator" | "user_manager") => {
    const ask = await site.as(role);
    const verified = await ask("POST", "/users/ada/verification", { phone: pairingId });
    const issued = await ask("POST", "/users/ada/bypass", ONE_USE);
    return [verified.code, issued.code];
  };
  assertEquals(await outcomes("viewer"), ["role", "role"]);
  assertEquals(await outcomes("operator"), ["", "role"]);
  assertEquals(await outcomes("user_manager"), ["verification_waiting", ""]);
});

const PATHS = ["bypass", "unlock", "reset-limits", "verification", "lost-phone"] as const;

Deno.test("the help desk can do nothing to a user who is also an administrator; a user manager can", async () => {
  await using site = await openHelpDesk({ users: ["olga", "ada"] });
  const { pairingId } = await site.pair("olga");
  const bodies = {
    ...{
      "bypass": ONE_USE,
      "lost-phone": { phones: [pairingId], bypass: null },
      "unlock": {},
      "reset-limits": {},
    },
    verification: { phone: pairingId },
  };
  const hanna = await site.as("help_desk");
  const ute = await site.as("user_manager");
  for (const path of PATHS) {
    assertEquals((await hanna("POST", `/users/Olga/${path}`, bodies[path])).code, "administrator_user", path);
  }
  assertEquals((await hanna("DELETE", "/users/olga/bypass", {})).code, "administrator_user");
  assertEquals(
    (await (await site.as("operator"))("POST", "/users/olga/verification", bodies.verification)).code,
    "administrator_user",
  );
  for (const path of PATHS) {
    assertEquals((await ute("POST", `/users/olga/${path}`, bodies[path])).code, "", path);
  }
  assertEquals(site.radius.bypassCodes.status("olga")?.by, "ute");
});

Deno.test("isAdministrator() compares names and email addresses, with and without a domain", () => {
  const content = (emails: unknown, displayName = "") =>
    ({ kind: "user", name: "x", active: true, attributes: { emails, displayName } }) as never as Parameters<
      typeof isAdministrator
    >[0]["content"];
  const cases: readonly [user: string, emails: unknown, administrator: string, expected: boolean][] = [
    ["ada", undefined, "Ada", true],
    ["ada", undefined, "bob", false],
    ["ada", undefined, "ada@corp.example", true],
    ["CORP\\ada", undefined, "ada", true],
    ["a.lovelace", [{ value: "ada@corp.example" }], "ada@corp.example", true],
    ["a.lovelace", [{ value: "ADA@corp.example" }], "ada", true],
    ["a.lovelace", ["ada@corp.example"], "ada@other.example", true],
    ["a.lovelace", [null, 5, {}, { value: 7 }], "ada", false],
    ["adam", [], "ada", false],
  ];
  for (const [user, emails, administrator, expected] of cases) {
    assertEquals(
      isAdministrator({ user, content: content(emails) }, [administrator]),
      expected,
      `${user} ${administrator}`,
    );
  }
  const shown = content([], "Ada Lovelace");
  assertEquals(isAdministrator({ user: "ada", content: shown }, ["ada lovelace"]), true);
  assertEquals(isAdministrator({ user: "ada", content: shown }, ["Ada"]), true);
  assertEquals(isAdministrator({ user: "ada.l", content: shown }, ["lovelace", ""]), false);
});

Deno.test("an API token with the role help_desk verifies callers and reads, and changes nothing that needs a factor", async () => {
  await using site = await openHelpDesk();
  const { pairingId } = await site.pair("ada");
  const olga = await site.as("owner");
  const made = await olga<{ token: string }>("POST", "/tokens", {
    name: "tickets",
    role: "help_desk",
    days: 1,
  });
  assertEquals(made.status, 200, made.code);
  const ask = async (method: string, path: string, json?: unknown) => {
    const response = await site.app(
      new Request(`http://localhost/console/api${path}`, {
        method,
        headers: {
          ...{ host: "localhost", authorization: `Bearer ${made.body.token}` },
          ...(json === undefined ? {} : { "content-type": "application/json" }),
        },
        body: json === undefined ? null : JSON.stringify(json),
      }),
      { remoteAddress: "192.0.2.9" },
    );
    const body = await response.json();
    return body.error?.code ?? "";
  };
  assertEquals(await ask("GET", "/users/ada"), "");
  assertEquals(await ask("POST", "/users/ada/verification", { phone: pairingId }), "");
  assertEquals(await ask("POST", "/users/ada/bypass", ONE_USE), "not_for_tokens");
  assertEquals(await ask("POST", "/approvals/x/deny", {}), "role");
});
