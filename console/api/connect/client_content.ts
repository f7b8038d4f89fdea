// Validates the settings of a RADIUS client that the console receives, and tests its first factor.

import type * as v from "valibot";
import type { ClientContent } from "../../../radius/doing/client_record.ts";
import { isAppendSeparator } from "../../../radius/pure/password.ts";
import { isDomainOrRealm } from "../../../radius/pure/user_name.ts";
import type { FIRST_FACTOR_TEST, FirstFactorAnswer, NEW_CLIENT } from "./client_shapes.ts";
import type { Connect } from "./connect.ts";
import { Refusal, REFUSALS } from "../refusal.ts";
import { DetailedRefusal } from "./target_refusals.ts";

type Given = Omit<v.InferOutput<typeof NEW_CLIENT>, "secret">;

/** LDAP backends of the target whose users log in: any of them can judge a password. */
export function ldapBackends({ config }: Pick<Connect, "config">): readonly string[] {
  const directory = config.targets.find(({ name }) => name === config.radius.directory);
  return directory?.backends.filter(({ kind }) => kind === "ldap").map(({ name }) => name) ?? [];
}

/** @throws Refusal `bad_address`, `bad_affix`, `bad_separator`, `bad_server`, `no_server_secret`, `unknown_backend`. */
export function contentOf(
  connect: Connect,
  given: Given,
): { content: ClientContent; serverSecret: string | undefined } {
  const { firstFactor, firstFactorServer: server } = given;
  const firstFactorBackend = firstFactor === "ldap" ? given.firstFactorBackend : "";
  if (firstFactor === "ldap" && !ldapBackends(connect).includes(firstFactorBackend)) {
    throw new Refusal("unknown_backend");
  }
  const address = rangesOf(connect, given.address);
  refuseBadNameParts(given);
  if (firstFactor !== "radius") {
    const content = { ...given, address, firstFactorBackend, firstFactorServer: null };
    return { content, serverSecret: undefined };
  }
  if (server === null) throw new Refusal("bad_server");
  const firstFactorServer = {
    address: serverAddressOf(connect, server.address),
    timeoutMs: server.timeoutMs,
    messageAuthenticator: server.messageAuthenticator,
  };
  return {
    content: { ...given, address, firstFactorBackend, firstFactorServer },
    serverSecret: server.secret,
  };
}

function rangesOf({ canonicalRange }: Connect, given: readonly string[]): string[] {
  const ranges = given.map((text) => {
    const range = canonicalRange(text);
    if (range === null) {
      throw new DetailedRefusal("bad_address", { message: `"${text}": ${REFUSALS.bad_address.message}` });
    }
    return range;
  });
  return [...new Set(ranges)];
}

function refuseBadNameParts({ stripDomains, stripRealms, appendSeparator }: Given): void {
  const wrong = [...stripDomains, ...stripRealms].find((text) => !isDomainOrRealm(text));
  if (wrong !== undefined) {
    const shown = JSON.stringify(wrong.slice(0, 100));
    throw new DetailedRefusal("bad_affix", { message: `${shown}: ${REFUSALS.bad_affix.message}` });
  }
  if (!isAppendSeparator(appendSeparator)) throw new Refusal("bad_separator");
}

function serverAddressOf({ serverAddress }: Connect, text: string) {
  const address = serverAddress(text);
  if (address === null || address.port === 0) throw new Refusal("bad_server");
  return address;
}

/** Asks a first factor whether it is there. A kept secret goes only to the server that it is kept for. */
export async function testFirstFactor(
  connect: Connect,
  test: v.InferOutput<typeof FIRST_FACTOR_TEST>,
): Promise<FirstFactorAnswer> {
  if ("backend" in test) {
    const outcome = await connect.probe(connect.config.radius.directory, test.backend);
    if (outcome === null) throw new Refusal("unknown_backend");
    return { answers: outcome.ok, detail: outcome.ok ? "" : outcome.fault.detail };
  }
  const server = "client" in test
    ? connect.register.firstFactorServer(test.client)
    : { ...test, address: serverAddressOf(connect, test.address) };
  if (server === null) throw new Refusal("no_server_secret");
  return { answers: await connect.askFirstFactor(server) !== "unavailable", detail: "" };
}
