// Types that the HTTP server and its applications share: errors with a status, and request bodies.

/** An error that becomes a response with a status. Each interface renders it in its own format. */
export class HttpError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    message: string,
    { status, headers = {}, cause }: {
      status: number;
      headers?: Readonly<Record<string, string>>;
      cause?: unknown;
    },
  ) {
    super(message, { cause });
    this.status = status;
    this.headers = headers;
  }
}

/** The body of a request, limited in size and in time. */
export interface RequestBody {
  /** The sender is authenticated: from now on, the limits are higher. @param maxOctets default: 1 MiB */
  allowLarge(maxOctets?: number): void;
  /** Reads the whole body. Later calls return the same octets. @throws HttpError */
  read(): Promise<Uint8Array>;
}
