// The form of a RADIUS client: its request, its changed settings, and the merge of two editors' changes.

import { assertEquals } from "@std/assert";
import type { ClientRow, DiscoveredSender } from "../../console/api/clients/client_types.ts";
import {
  changedSettings,
  type ClientDraft,
  findSignInMethod,
  mergeDrafts,
  NEW_CLIENT_DRAFT,
  settingText,
  toClientDraft,
  toClientRequest,
  withHeard,
  withHeardMethod,
} from "../../console/web/pages/clients/client_form.ts";

const draft = (change: Partial<ClientDraft> = {}): ClientDraft => ({
  ...NEW_CLIENT_DRAFT,
  address: "192.0.2.1",
  ...change,
});
/** The fields of a listed client besides its rules. */
const ROW = {
  name: "vpn-1",
  from: "console",
  version: 1,
  createdMs: 1,
  secretMs: 1,
  overlapUntilMs: null,
  use: { packets: 0, lastMs: 0, previousMs: 0, unsignedMs: 0 },
  signing: { required: "learnt", acceptsUnsigned: true, addresses: [], count: 0 },
  appendSeparator: ",",
  codePosition: "separated",
  healthCheckUsers: [],
  mode: "enforce",
  replyFromFirstFactor: ["all"],
  stripDomains: [],
  stripRealms: [],
  eap: "auto",
  eapOuterIdentity: "refuse",
  holdMs: 0,
  tlsSan: "",
  tlsFingerprint: "",
  tlsDisconnect: false,
  disconnectPort: 0,
  hasDisconnectSecret: false,
  accepted: 0,
  rejected: 0,
} as const;
const HEARD: DiscoveredSender = {
  ...{ source: "192.0.2.9", nasIdentifier: "nas-1", reason: "unknown_client", client: null, count: 1 },
  ...{ firstMs: 1, lastMs: 1, signed: true, method: "PAP", fits: "unknown", certificate: null },
};
const SERVER = {
  "firstFactorServer.address": " 192.0.2.20:1812 ",
  "firstFactorServer.secret": "s",
  firstFactorBackend: "ldap",
};

for (
  const [what, change, sent] of [
    ["the first factor of the settings", { ...SERVER }, [null, ""]],
    ["an LDAP backend", { ...SERVER, firstFactor: "ldap" }, [null, "ldap"]],
    ["another server", { ...SERVER, firstFactor: "radius" }, [
      { address: ["192.0.2.20:1812"], timeoutMs: 3000, messageAuthenticator: "require", secret: "s" },
      "",
    ]],
    ["another server with a stored secret", {
      ...SERVER,
      "firstFactorServer.secret": "",
      firstFactor: "radius",
    }, [
      { address: ["192.0.2.20:1812"], timeoutMs: 3000, messageAuthenticator: "require" },
      "",
    ]],
  ] as const
) {
  Deno.test(`toClientRequest() sends only the required fields for ${what}`, () => {
    const form = toClientRequest(draft(change));
    assertEquals([form.firstFactorServer, form.firstFactorBackend], [...sent]);
  });
}

for (
  const [what, change, fields] of [
    ["nothing, with other spaces", { address: " 192.0.2.1\n" }, []],
    ["an address", { address: "192.0.2.2" }, ["address"]],
    ["a server that is not used", { "firstFactorServer.address": "x:1" }, []],
    ["the first factor", { firstFactor: "radius", "firstFactorServer.address": "x:1" }, [
      "firstFactor",
      "firstFactorServer.address",
      "firstFactorServer.timeoutMs",
      "firstFactorServer.messageAuthenticator",
      "replyFromFirstFactor",
      "eapOuterIdentity",
    ]],
    [
      "the signature rule of a server that is not used",
      { "firstFactorServer.messageAuthenticator": "auto" },
      [],
    ],
    ["unknown users", { unknownUsers: "reject" }, ["unknownUsers"]],
    ["a domain and a realm", { stripDomains: "CORP", stripRealms: "corp.example" }, [
      "stripDomains",
      "stripRealms",
    ]],
    ["nothing, with blanks only", { stripDomains: " ", stripRealms: "\n,", appendSeparator: " " }, []],
    ["a separator without append mode", { appendSeparator: ";" }, []],
    ["a separator with append mode", { appendMode: true, appendSeparator: ";" }, [
      "appendMode",
      "appendSeparator",
      "codePosition",
    ]],
    ["two rules", { disabled: true, device: "hold" }, ["device", "disabled"]],
  ] as const
) {
  Deno.test(`changedSettings() lists ${what}`, () => {
    assertEquals(changedSettings(draft(), draft(change)), [...fields]);
  });
}

Deno.test("toClientRequest() sends lists of domains and realms, a separator, and auto for unknown users", () => {
  const rules = ({ unknownUsers, appendMode, appendSeparator, stripDomains, stripRealms }: typeof form) => [
    unknownUsers,
    appendMode,
    appendSeparator,
    stripDomains,
    stripRealms,
  ];
  const form = toClientRequest(draft());
  assertEquals(rules(form), ["auto", false, ",", [], []]);
  const change = { appendMode: true, stripDomains: " CORP, LAB\n", stripRealms: "corp.example  lab.example" };
  assertEquals(rules(toClientRequest(draft({ ...change, appendSeparator: ";" }))), [
    "auto",
    true,
    ";",
    ["CORP", "LAB"],
    ["corp.example", "lab.example"],
  ]);
  assertEquals(toClientRequest(draft({ ...change, appendSeparator: " " })).appendSeparator, ",");
});

Deno.test("toClientRequest() sends the typed seconds of the longest wait, and 0 for the global setting", () => {
  const sent = (typed: string) => toClientRequest(draft({ holdMs: typed as unknown as number })).holdMs;
  assertEquals(["", " ", "45", " 300 "].map(sent), [0, 0, 45_000, 300_000]);
  const gateway = { firstFactor: "none", holdMs: 25_000, acceptsTls: false } as const;
  const shown = (typed: string) =>
    settingText(draft({ holdMs: typed as unknown as number }), "holdMs", gateway);
  assertEquals(["", "45"].map(shown), ["clients.global_value", "clients.seconds"]);
});

const OVER_TLS = { transport: "tls", address: "", tlsSan: "vpn.example.org", tlsDisconnect: true } as const;

Deno.test("toClientRequest() sends only the settings of the chosen transport", () => {
  const known = (
    { tlsSan, tlsDisconnect, nasIdentifier, disconnectPort }: ReturnType<typeof toClientRequest>,
  ) => [tlsSan, tlsDisconnect, nasIdentifier, disconnectPort];
  const both = { ...OVER_TLS, nasIdentifier: "nas", disconnectPort: 3799, disconnectSecret: "typed" };
  const overTls = toClientRequest(draft(both));
  assertEquals([...known(overTls), overTls.disconnectSecret], ["vpn.example.org", true, "", 0, undefined]);
  assertEquals(known(toClientRequest(draft({ ...both, transport: "udp" }))), ["", false, "nas", 3799]);
});

Deno.test("mergeDrafts() keeps my change of the transport", () => {
  const theirs = draft({ device: "hold" });
  const merged = mergeDrafts({ base: draft(), mine: draft(OVER_TLS), theirs });
  assertEquals(merged, { ...draft(OVER_TLS), device: "hold" });
  assertEquals(mergeDrafts({ base: draft(), mine: theirs, theirs: draft(OVER_TLS) }), {
    ...draft(OVER_TLS),
    device: "hold",
  });
});

for (const san of ["vpn.example.org", ""]) {
  Deno.test(`withHeard() takes ${san || "the fingerprint"} of a certificate, and then the address of another sender`, () => {
    const fingerprint = "ab".repeat(32);
    const certificate = { subject: "CN=vpn", names: [], fingerprint, san };
    const before = draft({ nasIdentifier: "nas", messageAuthenticator: "require" });
    const heard = withHeard(before, { ...HEARD, certificate });
    assertEquals(
      [heard.transport, heard.address, heard.nasIdentifier, heard.tlsSan, heard.tlsFingerprint],
      ["tls", "", "", san, san === "" ? fingerprint : ""],
    );
    assertEquals(withHeard(heard, { ...HEARD, client: "other" }), {
      ...draft({ messageAuthenticator: "require" }),
      ...{ address: "192.0.2.9", nasIdentifier: "nas-1" },
    });
  });
}

Deno.test("toClientRequest() sends a typed port as a number, and a typed secret", () => {
  const sent = (change: object) => {
    const { disconnectPort, disconnectSecret } = toClientRequest(draft(change));
    return [disconnectPort, disconnectSecret];
  };
  assertEquals(sent({}), [0, undefined]);
  assertEquals(sent({ disconnectPort: " 3799 ", disconnectSecret: "typed" }), [3799, "typed"]);
  assertEquals(sent({ disconnectPort: "" }), [0, undefined]);
});

Deno.test("toClientDraft() reverses toClientRequest(), including the signature rule of the server's answers", () => {
  const change = {
    firstFactor: "radius",
    "firstFactorServer.address": "[2001:db8::1]:1812\n192.0.2.7:1812",
    "firstFactorServer.messageAuthenticator": "auto",
    unknownUsers: "allow",
    stripDomains: "CORP LAB",
    stripRealms: "corp.example",
    replyFromFirstFactor: "Class Filter-Id",
    appendMode: true,
    appendSeparator: ";",
    codePosition: "behind",
    healthCheckUsers: "probe ping",
    ...{ holdMs: "60" as unknown as number },
  } as const;
  const { firstFactorServer: server, ...form } = toClientRequest(draft(change));
  assertEquals(server?.messageAuthenticator, "auto");
  const row: ClientRow = {
    ...ROW,
    ...form,
    mode: "enforce",
    firstFactorServer: {
      address: [{ hostname: "2001:db8::1", port: 1812 }, { hostname: "192.0.2.7", port: 1812 }],
      timeoutMs: 3000,
      messageAuthenticator: "auto",
    },
    effective: { firstFactor: "radius", rejectsUnknown: true, holdMs: 60_000 },
  };
  assertEquals(toClientDraft(row), draft(change));
  assertEquals(changedSettings(draft(change), toClientDraft(row)), []);
});

Deno.test("mergeDrafts() keeps their value where I changed nothing, and mine where I did", () => {
  const merged = mergeDrafts({
    base: draft(),
    mine: draft({ device: "hold", nasIdentifier: "mine", "firstFactorServer.secret": "typed" }),
    theirs: draft({ nasIdentifier: "theirs", disabled: true }),
  });
  assertEquals(
    merged,
    draft({ device: "hold", nasIdentifier: "mine", "firstFactorServer.secret": "typed", disabled: true }),
  );
});

for (
  const [method, known, expected] of [
    ["PAP", {}, "pap"],
    ["PAP", { device: "hold" }, "pap_hold"],
    ["PAP", { device: "hold_then_challenge" }, null],
    ["CHAP", {}, "relay"],
    ["MS-CHAPv2", { device: "hold_then_challenge" }, "relay"],
    ["EAP", { firstFactor: "ldap" }, "relay"],
    ["PEAP", {}, "relay"],
    ["EAP-GTC", { firstFactor: "ldap" }, "gtc"],
  ] as const
) {
  Deno.test(`withHeardMethod() proposes ${expected} for ${method} and ${JSON.stringify(known)}`, () => {
    const proposed = withHeardMethod(draft(known), { method });
    assertEquals(findSignInMethod(proposed), expected);
    // Only a server can check these, and the client can only wait.
    if (expected === "relay") assertEquals([proposed.firstFactor, proposed.device], ["radius", "hold"]);
  });
}
