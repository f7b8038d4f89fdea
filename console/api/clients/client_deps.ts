// What the console needs of the gateway and of the identity interface to connect them with others: ports that the composition root fills.

import type { Config, SocketAddress } from "../../../platform/config/config.ts";
import type { ClientRegister } from "../../../radius/server/client_registry.ts";
import type { FirstFactorServer } from "../../../platform/client_values.ts";
import type { Ear } from "../../../radius/server/client_discovery.ts";
import type { Learnt } from "../../../radius/server/signing_clients.ts";
import type { FirstFactorVerdict, SecondFactorService } from "../../../radius/ports.ts";
import type { BackendStanding } from "../../../scim/backends/guarded_backend.ts";
import type { Credentials } from "../../../scim/http/credentials.ts";
import type { Targets } from "../../../scim/ports.ts";
import type { BackendOutcome } from "../../../scim/backend_port.ts";
import type { Content, FrontEnd } from "../../../scim/schema/resource.ts";
import { Refusal } from "../errors.ts";

export interface Connect {
  readonly register: ClientRegister;
  readonly ear: Ear;
  /** Which clients have to sign, because they signed before. */
  readonly learnt: Pick<Learnt, "names" | "forgetting" | "forget">;
  readonly targets: Pick<Targets, "get" | "names">;
  readonly credentials: Pick<Credentials, "list" | "add" | "revoke">;
  readonly config: Pick<Config, "targets" | "http" | "radius" | "secondFactor" | "telephony">;
  /** What is listened on, as the sockets say it. */
  readonly listening: { readonly radius: readonly string[]; readonly http: string };
  readonly secondFactor: Pick<SecondFactorService, "embedded" | "status">;
  /** Whether anything answers at the telephony service; `null` for the embedded outbox. */
  readonly askTelephony: (() => Promise<{ ok: boolean; detail: string }>) | null;
  /** An IP address or range in its one spelling; `null` for anything else. */
  canonicalRange(text: string): string | null;
  /** `host:port` or `[IPv6]:port`; `null` for anything else. */
  serverAddress(text: string): SocketAddress | null;
  /** Whether another RADIUS server answers, and with this secret. */
  askFirstFactor(server: FirstFactorServer): Promise<FirstFactorVerdict>;
  standing(target: string, backend: string): BackendStanding | null;
  probe(target: string, backend: string): Promise<BackendOutcome<null> | null>;
  /** The content for backends by a mapping that is not saved. Throws RangeError for an invalid mapping. */
  previewMapping(
    content: Content,
    mapping: {
      readonly user: Readonly<Record<string, string>>;
      readonly group: Readonly<Record<string, string>>;
    },
  ): FrontEnd;
}

/** The part that a route needs, or the refusal where the console runs without it. */
export function connected(connect: Connect | undefined): Connect {
  if (connect === undefined) throw new Refusal("no_directory");
  return connect;
}
