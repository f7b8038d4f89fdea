// The offline shell of the phone page: its HTML and the files of one build, in a cache of their own. The page comes from the
// network while there is one, so a new build is never hidden by an old cache.

interface ShellCacheDeps {
  readonly version: string;
  readonly files: readonly string[];
  readonly caches: Pick<CacheStorage, "open" | "keys" | "delete">;
  readonly fetch: typeof fetch;
  readonly timeout: (ms: number) => AbortSignal;
  /** The whole address of a path. */
  readonly url: (path: string) => string;
}

/** The start of the names of all caches of the phone page. */
export const CACHE_PREFIX = "countersign-phone-";
const PAGE = "/device/";
/** After this time without an answer, the shell from the cache is shown. */
const PAGE_DEADLINE_MS = 5000;

export class ShellCache {
  readonly #deps: ShellCacheDeps;

  constructor(deps: ShellCacheDeps) {
    this.#deps = deps;
  }

  /** Stores all files, or none. */
  async fill(): Promise<void> {
    const cache = await this.#deps.caches.open(this.#name);
    // Not from the cache of HTTP, which can hold the page of an earlier build.
    const requests = [PAGE, ...this.#deps.files].map((path) =>
      new Request(this.#deps.url(path), { cache: "no-cache" })
    );
    await cache.addAll(requests);
  }

  /** Deletes the caches of other builds. */
  async removeOld(): Promise<void> {
    const names = await this.#deps.caches.keys();
    const old = names.filter((name) => name.startsWith(CACHE_PREFIX) && name !== this.#name);
    await Promise.all(old.map((name) => this.#deps.caches.delete(name)));
  }

  /** The answer to a request of the page, or `null` for the requests that the browser sends itself. */
  answer(request: Request): Promise<Response> | null {
    const { pathname } = new URL(request.url);
    if (request.method !== "GET") return null;
    if (request.mode === "navigate") return pathname === PAGE ? this.#page(request) : null;
    return this.#deps.files.includes(pathname) ? this.#file(request) : null;
  }

  get #name(): string {
    return CACHE_PREFIX + this.#deps.version;
  }

  async #page(request: Request): Promise<Response> {
    const { fetch, timeout } = this.#deps;
    try {
      const response = await fetch(request, { signal: timeout(PAGE_DEADLINE_MS) });
      // A proxy answers for a server that is down.
      if (response.status < 500) return response;
      return await this.#cached(PAGE) ?? response;
    } catch (fault) {
      const cached = await this.#cached(PAGE);
      if (cached === undefined) throw fault;
      return cached;
    }
  }

  /** The names of the files contain a hash, so a cached file is never out of date. */
  async #file(request: Request): Promise<Response> {
    return await this.#cached(new URL(request.url).pathname) ?? await this.#deps.fetch(request);
  }

  async #cached(path: string): Promise<Response | undefined> {
    return await (await this.#deps.caches.open(this.#name)).match(path, { ignoreVary: true });
  }
}
