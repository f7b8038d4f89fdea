// Other parts on the HTTP listener, such as SCIM: what a part receives, and how the listener's refusals reach it.

import { Refusal, type RefusalCode, REFUSALS } from "./api/errors.ts";

/** What is known of a request besides itself. */
export interface PeerInfo {
  readonly remoteAddress: string;
}

/** What a mount gets with a request. */
export interface MountInfo extends PeerInfo {
  /** Called once the sender's credential was checked; before, a body may have 64 KiB only. */
  readonly allowLargeBody: () => void;
  /** A fault of the listener, such as a body that is too large; `null` for any other fault. */
  readonly listenerRefusal: (fault: unknown) => ListenerRefusal | null;
}

/** Another part's door on the same listener, such as SCIM: everything below `prefix` is its own. */
export interface Mount {
  readonly prefix: string;
  readonly handle: (request: Request, info: MountInfo) => Promise<Response> | Response;
  /** Says what the listener refused below the prefix in the part's own form; the console's form unless given. */
  readonly refuse?: (refused: ListenerRefusal, url: string) => Response;
}

/** A request that no part saw, because the listener refused it. */
export interface ListenerRefusal {
  readonly code: RefusalCode;
  readonly status: number;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The part that a path belongs to, if it is mounted; also for a request that will be refused. */
export function mountOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  return mounts.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));
}

export function refusalOf(fault: unknown): ListenerRefusal | null {
  if (!(fault instanceof Refusal)) return null;
  const { code, message, headers } = fault;
  return { code, status: REFUSALS[code].status, message, headers };
}
