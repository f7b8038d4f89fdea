// Limits the octets of responses that wait for their readers, over all connections. When there are too many, the
// connection whose reader has taken nothing for the longest time is closed.

/** The response of one connection while it is written. */
export interface UnsentResponse {
  /** The reader has taken some of it. */
  progress(): void;
  /** It is sent, or the connection is closed. */
  release(): void;
}

export interface UnsentOctets {
  /** Adds a response; `close` ends its connection to make room for others. */
  add(octets: number, close: () => void): UnsentResponse;
  total(): number;
}

const MAX_UNSENT_OCTETS = 64 * 1024 * 1024;

export function createUnsentOctets({ maxOctets = MAX_UNSENT_OCTETS } = {}): UnsentOctets {
  /** In the order of the last progress, the oldest first. */
  const responses = new Map<UnsentResponse, { readonly octets: number; readonly close: () => void }>();
  let total = 0;
  const remove = (response: UnsentResponse): void => {
    total -= responses.get(response)?.octets ?? 0;
    responses.delete(response);
  };
  const makeRoom = (octets: number): void => {
    for (const [response, { close }] of responses) {
      if (total + octets <= maxOctets) return;
      remove(response);
      close();
    }
  };
  return {
    add(octets, close) {
      makeRoom(octets);
      const response: UnsentResponse = {
        progress() {
          const entry = responses.get(response);
          if (entry === undefined) return;
          responses.delete(response);
          responses.set(response, entry);
        },
        release: () => remove(response),
      };
      responses.set(response, { octets, close });
      total += octets;
      return response;
    },
    total: () => total,
  };
}
