// The bodies that Okta, Microsoft Entra and other provisioning clients send, and the resulting resources.

import { assertEquals } from "@std/assert";
import type { JsonObject, ResourceKind } from "../../../scim/schema/resource.ts";
import { bodyOf, read, taken } from "./bodies.ts";

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const CORE = "urn:ietf:params:scim:schemas:core:2.0:User";

interface Row {
  readonly kind?: ResourceKind;
  readonly pathName?: string;
  readonly body: string;
  readonly name: string;
  readonly active?: boolean;
  readonly attributes: JsonObject;
  readonly members?: readonly string[];
  readonly password?: string;
  /** The source of the example. */
  readonly ref: string;
}

const CLIENTS: Readonly<Record<string, Row>> = {
  "Entra creates a user: roles as an empty list, meta in the body": {
    body: `{"schemas":["${CORE}","${ENTERPRISE}"],"externalId":"0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
      "userName":"Test_User_ab6490ee","active":true,
      "emails":[{"primary":true,"type":"work","value":"Test_User_fd0ea19b@testuser.com"}],
      "meta":{"resourceType":"User"},
      "name":{"formatted":"givenName familyName","familyName":"familyName","givenName":"givenName"},"roles":[]}`,
    name: "Test_User_ab6490ee",
    attributes: {
      name: { formatted: "givenName familyName", familyName: "familyName", givenName: "givenName" },
      emails: [{ primary: true, type: "work", value: "Test_User_fd0ea19b@testuser.com" }],
    },
    ref: "Entra documentation, use-scim-to-provision-users-and-groups",
  },
  "Entra disables a user with a text": {
    pathName: "anna",
    body: `{"userName":"anna","active":"False"}`,
    name: "anna",
    active: false,
    attributes: { name: { familyName: "", givenName: "" } },
    ref: "Entra documentation, application-provisioning-config-problem-scim-compatibility",
  },
  "Entra sends a manager as a text in the extension, and as a list of one beside it": {
    body: `{"userName":"anna","manager":[{"$ref":"../Users/7","value":"7"}],"${ENTERPRISE}":{"manager":"7"}}`,
    name: "anna",
    attributes: {
      name: { familyName: "", givenName: "" },
      manager: { $ref: "../Users/7", value: "7" },
      [ENTERPRISE]: { manager: { value: "7" } },
    },
    ref: "SCIM-SDK #541, scimple PR #1244",
  },
  "Entra sends a role as JSON inside of a text, and primary as a text": {
    body: `{"userName":"anna","roles":[{"primary":"True","type":"WindowsAzureActiveDirectoryRole",
      "value":"{\\"id\\":\\"18d1\\",\\"value\\":null}"}]}`,
    name: "anna",
    attributes: {
      name: { familyName: "", givenName: "" },
      roles: [{
        primary: true,
        type: "WindowsAzureActiveDirectoryRole",
        value: '{"id":"18d1","value":null}',
      }],
    },
    ref: "SCIM-SDK #516, tuist #13238",
  },
  "Okta creates a user: a password, groups as an empty list": {
    body: `{"schemas":["${CORE}"],"userName":"test.user@okta.local",
      "name":{"givenName":"Test","familyName":"User"},
      "emails":[{"primary":true,"value":"test.user@okta.local","type":"work"}],
      "displayName":"Test User","locale":"en-US","externalId":"00ujl29u0le5T6Aj10h7",
      "groups":[],"password":"1mz050nq","active":true}`,
    name: "test.user@okta.local",
    attributes: {
      name: { givenName: "Test", familyName: "User" },
      emails: [{ primary: true, value: "test.user@okta.local", type: "work" }],
      displayName: "Test User",
      locale: "en-US",
    },
    password: "1mz050nq",
    ref: "Okta developer documentation, SCIM 2.0 reference",
  },
  "Okta replaces a user by the whole object that it read": {
    pathName: "test.user@okta.local",
    body: `{"schemas":["${CORE}"],"id":"23a35c27","userName":"test.user@okta.local","active":false,
      "name":{"givenName":"Another","middleName":"","familyName":"User"},
      "groups":[{"value":"x","display":"X"}],"meta":{"resourceType":"User","version":"W/\\"1\\""}}`,
    name: "test.user@okta.local",
    active: false,
    attributes: { name: { givenName: "Another", middleName: "", familyName: "User" } },
    ref: "Okta developer documentation, SCIM 2.0 reference",
  },
  "Okta sends members without a type": {
    kind: "group",
    body: `{"displayName":"Test SCIMv2","members":[{"value":"anna","display":"anna"},{"value":"bob"}]}`,
    name: "Test SCIMv2",
    attributes: {},
    members: ["anna", "bob"],
    ref: "SCIM-SDK #419",
  },
  "Entra sends a member with a reference that is null": {
    kind: "group",
    body: `{"displayName":"g","members":[{"$ref":null,"value":"anna"}]}`,
    name: "g",
    attributes: {},
    members: ["anna"],
    ref: "Entra documentation, use-scim-to-provision-users-and-groups",
  },
  "OneLogin names the schema of SCIM 1": {
    body: `{"schemas":["urn:scim:schemas:core:1.0"],"userName":"anna","title":null}`,
    name: "anna",
    attributes: { name: { familyName: "", givenName: "" } },
    ref: "scim.dev, guide for OneLogin",
  },
};

for (const [title, row] of Object.entries(CLIENTS)) {
  const { kind = "user", body, name, active = true, attributes, members = [], password, pathName } = row;
  Deno.test(`readContent(): ${title}`, () => {
    const outcome = taken(read(kind, bodyOf(body), pathName === undefined ? {} : { pathName }));
    assertEquals(
      outcome.content,
      kind === "user" ? { kind, name, active, attributes } : { kind, name, attributes, members },
    );
    assertEquals(outcome.password, password);
  });
}
