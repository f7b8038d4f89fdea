// Makes calls out of names: `calls("/console/api").users[":id"].$get({ param: { id } })` fetches `/console/api/users/ada`.
// It does at run time what hono's client does, in a quarter of its size; the types are hono's.

interface CallArgs {
  readonly param?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly json?: unknown;
}

/** The calls below a path. `index` stands for the path itself. */
export function calls(path: string): unknown {
  return new Proxy(Object, {
    get(_target, name) {
      // The result must not be a thenable.
      if (typeof name !== "string" || name === "then") return undefined;
      if (name.startsWith("$")) {
        const method = name.slice(1).toUpperCase();
        return (args?: CallArgs) => call({ method, path, args });
      }
      return calls(name === "index" ? path : `${path}/${name}`);
    },
  });
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly args: CallArgs | undefined;
}

function call({ method, path, args = {} }: Call): Promise<Response> {
  const { json } = args;
  const sent = json === undefined
    ? {}
    : { headers: { "content-type": "application/json" }, body: JSON.stringify(json) };
  return fetch(addressOf(path, args), { method, ...sent });
}

function addressOf(path: string, { param = {}, query = {} }: CallArgs = {}): string {
  const filled = path.replace(/:(\w+)/g, (whole, name: string) => {
    const value = param[name];
    // Callers escape what they put in; what would lead elsewhere is escaped in any case.
    return value === undefined ? whole : value.replace(/[/?#]/g, encodeURIComponent);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of typeof value === "string" ? [value] : value) search.append(name, one);
  }
  const text = search.toString();
  return text === "" ? filled : `${filled}?${text}`;
}
