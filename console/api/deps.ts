// The services of the gateway, the directory and SCIM that the console's routes need. The composition root provides
// them.

import type {
  Config,
  FactorSettings,
  HelpDeskSettings,
  LdapBackendSettings,
  SocketAddress,
  TargetSettings,
} from "../../platform/config/config.ts";
import type { ClientRegistry } from "../../radius/server/client_registry.ts";
import type { FirstFactorServer } from "../../platform/client_settings.ts";
import type { RadsecConnections } from "../../radius/server/radsec.ts";
import type { ClientDiscovery } from "../../radius/server/client_discovery.ts";
import type { SigningClients } from "../../radius/server/unsigned_requests.ts";
import type { FirstFactorServerStatus, SecondFactorService } from "../../radius/ports.ts";
import type { BackendTrial } from "../../scim/scim.ts";
import type { BackendHealth } from "../../scim/backends/guarded_backend.ts";
import type { Credentials } from "../../scim/http/credentials.ts";
import type { ConnectionAdministration } from "../../scim/v2/connections/connection_administration.ts";
import type { Target, Targets } from "../../scim/ports.ts";
import type { BackendOutcome } from "../../scim/backend_port.ts";
import type {
  Content,
  FrontEnd,
  JsonObject,
  Mapping,
  ResourceKind,
  Stored,
} from "../../scim/schema/resource.ts";
import { Refusal } from "./errors.ts";
import type { Radius } from "../../radius/radius.ts";
import type { PhonePages } from "../../upstream/embedded/push/phone_pages.ts";
import type { NotMeReport } from "../../radius/conversation/ended_logins.ts";
import type { LoginDryRun } from "../../radius/conversation/login_dry_run.ts";
import type { LastSignIns } from "../../radius/factors/last_sign_ins.ts";
import type { ParseResourceOutcome } from "../../scim/schema/parse_resource.ts";
import type { FindUserRecord } from "../../platform/user_record.ts";
import type { FileRow } from "../../scim/transfer/row_reader.ts";
import type { UploadedRowCheck, UploadOutcome } from "../../scim/transfer/upload.ts";
import type { CsvWriter } from "../../scim/transfer/columns.ts";
import type { BulkRequest, BulkRow, RowOutcome } from "../../scim/transfer/bulk_plan.ts";

export interface Connect {
  readonly register: ClientRegistry;
  readonly clientDiscovery: ClientDiscovery;
  /** TLS connections of RADIUS clients. */
  readonly radsec?: Pick<RadsecConnections, "size" | "certPem" | "byClient">;
  /** Clients that must sign, because they signed before. */
  readonly signingClients: Pick<SigningClients, "names" | "forgetMutations" | "forget">;
  readonly targets: Pick<Targets, "get" | "names">;
  readonly credentials: Pick<Credentials, "list" | "add" | "revoke">;
  readonly connections: ConnectionAdministration;
  readonly config: Pick<Config, "targets" | "http" | "radius" | "secondFactor" | "telephony">;
  /** The bound addresses. */
  readonly listening: { readonly radius: readonly string[]; readonly http: string };
  readonly secondFactor: Pick<SecondFactorService, "embedded" | "status">;
  /** Push messages to phones; `null` while an external second-factor service is used. Absent: none. */
  readonly pushPages?: () => Pick<PhonePages, "status" | "probe"> | null;
  /** Tests the telephony service; `null` for the embedded outbox. */
  probeTelephony(): Promise<{ ok: boolean; detail: string }> | null;
  /** An IP address or range in canonical form; `null` for anything else. */
  canonicalRange(text: string): string | null;
  /** `host:port` or `[IPv6]:port`; `null` for anything else. */
  serverAddress(text: string): SocketAddress | null;
  /** The RADIUS servers that check the first factor. */
  readonly firstFactorServers: {
    /** Resolves to the servers that do not answer, or do not have this secret. */
    probe(servers: FirstFactorServer): Promise<readonly string[]>;
    status(): readonly FirstFactorServerStatus[];
    /** Asks a server of the settings whether it answers. */
    test(server: string): Promise<void>;
  };
  backendHealth(target: string, backend: string): BackendHealth | null;
  probe(target: string, backend: string): Promise<BackendOutcome<null> | null>;
  /** Tests settings of a backend that are not saved. */
  tryBackend(target: TargetSettings, backend: string): Promise<BackendTrial>;
  /** Resolves when the targets are those of the settings. */
  targetsApplied(): Promise<void>;
  /** The attributes of users of each LDAP schema, by their front-end names. */
  readonly ldapAttributes: Readonly<Record<LdapBackendSettings["schema"], Readonly<Record<string, string>>>>;
  /** The content for backends by a mapping that is not saved. Throws RangeError for an invalid mapping. */
  previewMapping(
    content: Content,
    mapping: {
      readonly user: Readonly<Record<string, string>>;
      readonly group: Readonly<Record<string, string>>;
    },
  ): FrontEnd;
}

/** @throws Refusal `no_directory` if the console runs without the gateway. */
export function requireGateway(connect: Connect | undefined): Connect {
  if (connect === undefined) throw new Refusal("no_directory");
  return connect;
}

/** What the gateway stores about users, and whether a change of a user or group gives a person access. */
type PeopleState = Pick<
  Radius,
  | "pairings"
  | "limits"
  | "recoveryCodes"
  | "hardwareTokens"
  | "enrolment"
  | "factorMarks"
  | "bypassCodes"
  | "policies"
  | "access"
>;

export interface People extends PeopleState {
  readonly targets: Pick<Targets, "get" | "names">;
  /** The target whose users log in: pairings and locks belong to its users. */
  readonly loginTarget: () => string;
  readonly lastSignIns: Pick<LastSignIns, "of" | "daysAgoMs">;
  /** Prepares the changes of a user's report "this was not me" (canonical name). */
  prepareNotMeReport(canonical: string): NotMeReport;
  readonly findUserRecord: FindUserRecord;
  readonly factors: Pick<
    FactorSettings,
    "enabled" | "countryCodes" | "requesterName" | "sends" | "lockout"
  >;
  readonly helpDesk: HelpDeskSettings;
  /** Parses SCIM attributes as the SCIM routes do. */
  readContent(
    kind: ResourceKind,
    body: JsonObject,
    options: { mapping: Mapping; pathName?: string; newName: () => string },
  ): ParseResourceOutcome;
  readonly trials: LoginDryRun;
}

/** @throws Refusal `no_directory` if the console runs without a directory. */
export function requireUsers(people: People | undefined): People {
  if (people === undefined) throw new Refusal("no_directory");
  return people;
}

/** The target of a request. Default: the one whose users log in. */
export function targetOf({ targets, loginTarget }: People, name: string | undefined): Target {
  const target = targets.get(name === undefined || name === "" ? loginTarget() : name);
  if (target === null) throw new Refusal("unknown_target");
  return target;
}

export interface Transfer {
  /** Reads the text of a table or of JSON. */
  readUpload(
    file: { readonly name: string; readonly text: string },
    options: { mapping: Mapping; mostRows: number },
  ): UploadOutcome;
  /** Checks a row like the body of a POST. */
  checkRow(row: FileRow, mapping: Mapping): UploadedRowCheck;
  /** The names of rows, each once and in NFC. */
  soundNames(names: readonly string[]): readonly string[];
  /** The rows of a request; `null` if they are invalid or too many. */
  readRows(value: unknown): BulkRow[] | null;
  /** Writes rows, or reports the result of a dry run. @throws ScimRefusal */
  write(target: Target, request: BulkRequest): Promise<RowOutcome[]>;
  /** A resource as lines of JSON; a large group has several. */
  lines(target: Target, stored: Stored): Iterable<string>;
  /** A table of resources whose cells no spreadsheet calculates. */
  table(kind: ResourceKind, mapping: Mapping): CsvWriter;
  /** One resource as JSON, as in a SCIM response. */
  resourceText(target: Target, stored: Stored): string;
}

/** @throws Refusal `no_directory` if the console runs without a directory. */
export function requireTransfer(transfer: Transfer | undefined): Transfer {
  if (transfer === undefined) throw new Refusal("no_directory");
  return transfer;
}
