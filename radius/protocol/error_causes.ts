// Values of Error-Cause (RFC 5176 §3.5): why a NAS refused a Disconnect-Request.

interface ErrorCauseRow {
  readonly value: number;
  readonly ref: string;
  /** The same request can succeed later. */
  readonly isTemporary?: true;
  /** The request can succeed with more attributes that identify the session. */
  readonly wantsMore?: true;
  /** The request can succeed with only the attributes that every client knows. */
  readonly wantsLess?: true;
}

/** By name. 201 to 299 are successes, 400 to 499 faults of the request, and 500 to 599 faults of the NAS or a proxy. */
const ERROR_CAUSES = {
  "Residual Session Context Removed": { value: 201, ref: "RFC 5176 §3.5" },
  "Invalid EAP Packet": { value: 202, ref: "RFC 5176 §3.5" },
  "Unsupported Attribute": { value: 401, ref: "RFC 5176 §3.5", wantsLess: true },
  "Missing Attribute": { value: 402, ref: "RFC 5176 §3.5", wantsMore: true },
  "NAS Identification Mismatch": { value: 403, ref: "RFC 5176 §3.5" },
  "Invalid Request": { value: 404, ref: "RFC 5176 §3.5", wantsMore: true },
  "Unsupported Service": { value: 405, ref: "RFC 5176 §3.5" },
  "Unsupported Extension": { value: 406, ref: "RFC 5176 §3.5" },
  "Invalid Attribute Value": { value: 407, ref: "RFC 5176 §3.5" },
  "Administratively Prohibited": { value: 501, ref: "RFC 5176 §3.5" },
  "Request Not Routable": { value: 502, ref: "RFC 5176 §3.5" },
  "Session Context Not Found": { value: 503, ref: "RFC 5176 §3.5", wantsMore: true },
  "Session Context Not Removable": { value: 504, ref: "RFC 5176 §3.5" },
  "Other Proxy Processing Error": { value: 505, ref: "RFC 5176 §3.5" },
  "Resources Unavailable": { value: 506, ref: "RFC 5176 §3.5", isTemporary: true },
  "Request Initiated": { value: 507, ref: "RFC 5176 §3.5" },
  "Multiple Session Selection Unsupported": { value: 508, ref: "RFC 5176 §3.5", wantsMore: true },
} as const satisfies Readonly<Record<string, ErrorCauseRow>>;

const BY_VALUE = new Map<number, { readonly name: string; readonly row: ErrorCauseRow }>(
  Object.entries<ErrorCauseRow>(ERROR_CAUSES).map(([name, row]) => [row.value, { name, row }]),
);

/** The row of an Error-Cause; `null` without one, or if it is unknown. */
export function errorCause(value: number | null): ErrorCauseRow | null {
  return value === null ? null : BY_VALUE.get(value)?.row ?? null;
}

/** The name of an Error-Cause with its number, or the number alone; "" without one. */
export function errorCauseText(value: number | null): string {
  if (value === null) return "";
  const name = BY_VALUE.get(value)?.name;
  return name === undefined ? String(value) : `${value} ${name}`;
}
