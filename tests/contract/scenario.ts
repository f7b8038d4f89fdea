// The gateway of the store scenario: three targets with their backends, a SCIM client, a phone and an authenticator
// app.

import { startSmtpServer } from "../fakes/smtp_server.ts";
import type { Transaction } from "../../platform/store.ts";
import { type Browser, type ContractGateway, openContractGateway } from "./gateway_client.ts";

export interface Scenario extends AsyncDisposable {
  readonly gateway: ContractGateway;
  /** Creates, changes and deletes users and groups over SCIM. */
  readonly scim: Browser;
  /** The phone of anna. */
  readonly phone: Browser;
  /** The authenticator app of dora; its secret is known after the set-up. */
  readonly app: { secret: string };
}

/** A number of members that does not fit into one commit. */
export const MANY_MEMBERS = Array.from({ length: 600 }, (_, at) => `member${at}`);

/** The names that the scenario uses, by their kind. */
export const SCENARIO_NAMES = {
  user: [
    ...MANY_MEMBERS,
    ...["anna", "bert", "carl", "dora", "emil", "fred", "gerd", "hans", "ines", "lars"],
    ...["walt", "rosa", "olga", "laurids"],
  ],
  group: ["staff", "crew", "team", "workforce"],
  target: ["default", "crm", "partner", "corp"],
  backend: ["local", "archive", "remote"],
  client: ["vpn", "branch", "wifi"],
  administrator: ["owner", "invited"],
  credential: ["hr"],
  connection: ["okta", "entra"],
  token: ["backup"],
  serial: ["T-1"],
};

/**
 * Opens the gateway with three targets: the store alone, a backend that is too busy, and one that accepts everything.
 */
export async function openScenario(onCommit: (transaction: Transaction) => void): Promise<Scenario> {
  const backend = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answerAsBackend);
  const mailServer = await startSmtpServer();
  mailServer.answer = (command) => {
    if (!command.startsWith("RCPT") || command.includes("BERT")) return null;
    return command.includes("GERD") ? "550 5.1.1 No such user" : "450 4.2.0 Try again later";
  };
  const gateway = await openContractGateway(
    `
[mail]
host = "127.0.0.1"
port = ${mailServer.port}
security = "none"
from = "Countersign <no-reply@example.com>"
per_minute = 60000
[factors]
phone_numbers = "any"
enrol_at_login = "always"
[factors.lockout]
failures = 2
[targets.default.backends.local]
kind = "store"
[targets.crm.backends.local]
kind = "store"
[targets.crm.backends.remote]
kind = "scim"
mode = "async"
url = "http://127.0.0.1:${backend.addr.port}/busy"
token = "a-token-of-the-contract"
[targets.partner.backends.local]
kind = "store"
[targets.partner.backends.archive]
kind = "store"
[targets.partner.backends.remote]
kind = "scim"
mode = "sync"
url = "http://127.0.0.1:${backend.addr.port}/accepts"
token = "a-token-of-the-contract"
`,
    { onCommit },
  );
  const credential = { name: "hr", targets: ["default", "crm", "partner"], access: "write" };
  const { password } = await gateway.operator.send<{ password: string }>("POST", "/credentials", credential);
  return {
    gateway,
    scim: gateway.browser({ authorization: `Basic ${btoa(`hr:${password}`)}` }),
    phone: gateway.browser(),
    app: { secret: "" },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await backend.shutdown();
      await mailServer.close();
    },
  };
}

/** A SCIM server without resources. Below `/busy` it refuses one user and is too busy for all others. */
async function answerAsBackend(request: Request): Promise<Response> {
  if (/\/(Users|Groups)\/[^/]+$/.test(request.url) && request.method === "GET") {
    return Response.json({ status: "404" }, { status: 404 });
  }
  if (request.method === "GET") return Response.json({ totalResults: 0, Resources: [] });
  const body = await request.text();
  if (request.url.includes("/accepts/")) {
    return Response.json({ ...JSON.parse(body), id: "1" }, { status: 201 });
  }
  const status = body.includes("rosa") ? 400 : 503;
  return Response.json({ status: `${status}` }, { status });
}

/** A step of the scenario. The steps run in order, and later ones use what earlier ones made. */
export type ScenarioStep = (scenario: Scenario) => Promise<void>;
