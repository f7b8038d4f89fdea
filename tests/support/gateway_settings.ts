// The settings file of a gateway under test: settings of the test, merged into those of free ports and a temporary
// directory.

import { parse, stringify } from "smol-toml";
import { randomBytes } from "node:crypto";

/** The paths and ports of one gateway. */
export interface GatewayPaths {
  readonly config: string;
  readonly ready: string;
  readonly dataDir: string;
}

/** The content of the program's ready file. */
export interface ToldListeners {
  readonly radius: readonly { readonly hostname: string; readonly port: number }[];
  readonly accounting: readonly { readonly hostname: string; readonly port: number }[];
  /** RADIUS over TLS. */
  readonly tls: readonly { readonly hostname: string; readonly port: number }[];
  readonly http: { readonly hostname: string; readonly port: number };
  readonly pid: number;
}

/** A settings file that was written. */
export interface PreparedSettings {
  readonly paths: GatewayPaths;
  /** The directory to remove at the end; a data directory of the test is not in it. */
  readonly scratch: string;
  readonly secret: string;
  /** Writes the ports of the first start to the file, so that the next start uses the same ones. */
  pinPorts(told: ToldListeners): Promise<void>;
}

type Table = Record<string, unknown>;

/**
 * Writes the settings for one gateway. Its secret begins with a letter, because peers accept it as a word on a command
 * line.
 */
export async function prepareSettings(
  options: { readonly toml?: string; readonly dataDir?: string },
): Promise<PreparedSettings> {
  const home = await Deno.makeTempDir({ prefix: "countersign-test-" });
  const dataDir = options.dataDir ?? `${home}/data`;
  const paths = { config: `${home}/countersign.toml`, ready: `${home}/ready.json`, dataDir };
  const settings = overlay({
    server: { data_dir: dataDir },
    http: { listen: "127.0.0.1:0" },
    radius: {
      listen: ["127.0.0.1:0"],
      accounting_listen: ["127.0.0.1:0"],
      secret: `s${randomBytes(18).toString("base64url")}`,
    },
  }, parse(options.toml ?? "") as Table);
  const write = () => Deno.writeTextFile(paths.config, stringify(settings), { mode: 0o600 });
  await write();
  return {
    paths,
    scratch: home,
    secret: secretOf(settings),
    async pinPorts(told) {
      const textOf = ({ hostname, port }: { hostname: string; port: number }) => `${hostname}:${port}`;
      const listen = told.radius.map(textOf);
      Object.assign(settings, overlay(settings, { radius: { listen } }));
      if (told.accounting.length > 0) {
        const accounting_listen = told.accounting.map(textOf);
        Object.assign(settings, overlay(settings, { radius: { accounting_listen } }));
      }
      if (told.tls.length > 0) {
        const tls_listen = told.tls.map(textOf);
        Object.assign(settings, overlay(settings, { radius: { tls_listen } }));
      }
      Object.assign(settings, overlay(settings, { http: { listen: `127.0.0.1:${told.http.port}` } }));
      await write();
    },
  };
}

/** `over` merged into `base`: tables are merged, anything else is replaced. */
export function overlay(base: Table, over: Table): Table {
  const result: Table = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isTable(below) && isTable(value) ? overlay(below, value) : value;
  }
  return result;
}

/** The secret that a client on loopback shares with this gateway: its own, or that of the first client entry. */
function secretOf(settings: Table): string {
  const radius = settings.radius as Table;
  const [first] = Array.isArray(radius.client) ? radius.client as Table[] : [];
  return String(first?.secret ?? radius.secret);
}

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
