// Clients that behave like Okta and Entra ID provision users and groups of the real program, from the first test of the
// connection to the deletion.

import { assert, assertEquals } from "@std/assert";
import { createEntraClient } from "../../../fakes/entra_client.ts";
import { createOktaClient } from "../../../fakes/okta_client.ts";
import { createScimCaller, type ProviderUser } from "../../../fakes/scim_caller.ts";
import type { SuiteServer } from "./suite_run.ts";
import { ENTERPRISE } from "./suite_steps.ts";
import { startSuiteWorld } from "./suite_world.ts";

const ADA: ProviderUser = {
  ...{ key: "00u1ada", userName: "ada@example.com", givenName: "Ada", familyName: "Byron" },
  ...{ email: "ada@example.com", title: "Dr.", department: "Sales" },
};
const BOB: ProviderUser = {
  ...{ key: "00u1bob", userName: "bob@example.com", givenName: "Bob", familyName: "Bell" },
  email: "bob@example.com",
};

/** What the server has, read with requests of its own. */
function createReader({ baseUrl, authorization }: SuiteServer) {
  const caller = createScimCaller({ baseUrl, authorization: () => authorization, headers: {} });
  return async (path: string) => (await caller.send("GET", path)).json;
}

const membersOf = ({ members = [] }: Readonly<Record<string, unknown>>) =>
  (members as { value: string }[]).map(({ value }) => value).sort();

for (const deactivatesBy of ["PATCH", "PUT"] as const) {
  Deno.test(`a client like Okta that deactivates by ${deactivatesBy} provisions users and groups`, async () => {
    await using world = await startSuiteWorld();
    const server = await world.server("okta");
    const read = createReader(server);
    const okta = createOktaClient({ ...server, authorization: () => server.authorization, deactivatesBy });
    await okta.testCredentials();
    const [ada, bob] = [await okta.assignUser(ADA), await okta.assignUser(BOB)];
    assertEquals((await okta.importUsers()).sort(), [ada, bob].sort());

    await okta.updateUser(ada, { ...ADA, familyName: "Lovelace", title: "Countess" });
    const changed = await read(`/Users/${ada}`);
    assertEquals([changed.displayName, changed.title, changed.active], ["Ada Lovelace", "Countess", true]);

    const staff = await okta.pushGroup("Staff", [ada]);
    assertEquals(membersOf(await read(`/Groups/${staff}`)), [ada]);
    await okta.changeMembers(staff, { add: [bob], remove: [ada] });
    assertEquals(membersOf(await read(`/Groups/${staff}`)), [bob]);
    await okta.pushMembers(staff, [ada, bob]);
    await okta.renameGroup(staff, "Crew");
    const crew = await read(`/Groups/${staff}`);
    assertEquals([crew.displayName, membersOf(crew)], ["Crew", [ada, bob].sort()]);
    await okta.pushMembers(staff, []);
    assertEquals(membersOf(await read(`/Groups/${staff}`)), []);

    await okta.deactivateUser(ada);
    assertEquals((await read(`/Users/${ada}`)).active, false);
    await okta.reactivateUser(ada);
    assertEquals((await read(`/Users/${ada}`)).active, true);
    await okta.deactivateUser(ada);
    assertEquals(await okta.assignUser(ADA), ada, "an inactive user is taken over, not created again");
    assertEquals((await read(`/Users/${ada}`)).active, true);
    await okta.deleteGroup(staff);
    assert(okta.requests.every(({ status }) => status < 400));
  });
}

for (const dialect of ["default", "compliant"] as const) {
  Deno.test(`a client like Entra ID with the ${dialect} dialect provisions users and groups`, async () => {
    await using world = await startSuiteWorld();
    const server = await world.server("validator");
    const read = createReader(server);
    const entra = createEntraClient({ ...server, authorization: () => server.authorization, dialect });
    await entra.testConnection();
    const [ada, bob] = [await entra.provisionUser(ADA), await entra.provisionUser(BOB)];

    const changed = { ...ADA, familyName: "Lovelace", email: "ada@new.example", department: "R&D" };
    assertEquals(await entra.provisionUser(changed), ada);
    const user = await read(`/Users/${ada}`);
    assertEquals(user.displayName, "Ada Lovelace");
    assertEquals(user.name, { formatted: "Ada Byron", familyName: "Lovelace", givenName: "Ada" });
    assertEquals(user.emails, [{ value: "ada@new.example", type: "work", primary: true }]);
    assertEquals(user[ENTERPRISE], { department: "R&D" });

    await entra.setManager(bob, ada);
    const { manager } = (await read(`/Users/${bob}`))[ENTERPRISE] as { manager: { value: string } };
    assertEquals(manager.value, ada);
    await entra.setManager(bob, null);
    assertEquals((await read(`/Users/${bob}`))[ENTERPRISE], undefined);

    await entra.disableUser(ada);
    assertEquals((await read(`/Users/${ada}`)).active, false);
    await entra.enableUser(ada);
    assertEquals((await read(`/Users/${ada}`)).active, true);

    const staff = await entra.provisionGroup({ key: "g1", displayName: "Staff" });
    await entra.addMember(staff, ada);
    await entra.addMember(staff, bob);
    await entra.addMember(staff, bob);
    assertEquals(await entra.isMember(staff, ada), true);
    await entra.removeMember(staff, ada);
    assertEquals([await entra.isMember(staff, ada), await entra.isMember(staff, bob)], [false, true]);
    await entra.renameGroup(staff, "Crew");
    assertEquals(await entra.provisionGroup({ key: "g1", displayName: "Crew" }), staff);

    await entra.deleteUser(bob);
    assertEquals(membersOf(await read(`/Groups/${staff}`)), []);
    await entra.deleteGroup(staff);
    assert(entra.requests.every(({ status }) => status < 400));
  });
}
