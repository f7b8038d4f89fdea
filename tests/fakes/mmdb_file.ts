// Writes small MaxMind DB files for tests, and the parts of damaged ones.

import { ipOctets } from "../../platform/addresses.ts";

export type MmdbData = string | number | boolean | readonly MmdbData[] | {
  readonly [name: string]: MmdbData;
};

export interface MmdbFile {
  /** "198.51.100.0/24" and its record. */
  readonly networks: Readonly<Record<string, MmdbData>>;
  readonly databaseType?: string;
  readonly recordSize?: 24 | 28 | 32;
  readonly ipVersion?: 4 | 6;
  /** Replaces fields of the metadata. */
  readonly metadata?: Readonly<Record<string, MmdbData>>;
}

interface TreeNode {
  readonly children: [TreeNode | null, TreeNode | null];
  /** The offset of the record in the data section; -1 for none. */
  at: number;
}

/** A database with the records of some networks. */
export function mmdbFile(
  { networks, databaseType = "Test-Country", recordSize = 24, ipVersion = 6, metadata = {} }: MmdbFile,
): Uint8Array<ArrayBuffer> {
  const root: TreeNode = { children: [null, null], at: -1 };
  const data: number[] = [];
  for (const [network, record] of Object.entries(networks)) {
    const [address = "", prefix = ""] = network.split("/");
    const octets = ipOctets(address) ?? new Uint8Array(4);
    const zeros = octets.length === 4 && ipVersion === 6 ? 96 : 0;
    let node = root;
    for (let bit = 0; bit < zeros + Number(prefix); bit++) {
      const own = bit < zeros ? 0 : ((octets[(bit - zeros) >> 3] ?? 0) >> (7 - ((bit - zeros) & 7))) & 1;
      node = node.children[own] ??= { children: [null, null], at: -1 };
    }
    node.at = data.length;
    data.push(...encodeMmdb(record));
  }
  const nodes = innerNodes(root);
  const numbers = new Map(nodes.map((node, number) => [node, number]));
  const recordOf = (node: TreeNode | null): number =>
    node === null ? nodes.length : numbers.get(node) ?? nodes.length + 16 + node.at;
  const tree = nodes.flatMap(({ children: [left, right] }) =>
    nodeOctets([recordOf(left), recordOf(right)], recordSize)
  );
  const described = encodeMmdb({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_790_000_000,
    database_type: databaseType,
    ip_version: ipVersion,
    node_count: nodes.length,
    record_size: recordSize,
    ...metadata,
  });
  const marker = [0xab, 0xcd, 0xef, ...new TextEncoder().encode("MaxMind.com")];
  return Uint8Array.from([...tree, ...new Array<number>(16).fill(0), ...data, ...marker, ...described]);
}

/** A pointer to an offset of the data section below 2048. */
export function mmdbPointer(target: number): number[] {
  return [0x20 | (target >> 8), target & 255];
}

function innerNodes(node: TreeNode): TreeNode[] {
  if (node.at >= 0) return [];
  return [node, ...node.children.flatMap((child) => child === null ? [] : innerNodes(child))];
}

function nodeOctets([left, right]: [number, number], recordSize: 24 | 28 | 32): number[] {
  const low = (value: number, width: number) =>
    Array.from({ length: width }, (_, at) => Math.floor(value / 256 ** (width - 1 - at)) & 255);
  if (recordSize !== 28) return [...low(left, recordSize / 8), ...low(right, recordSize / 8)];
  const middle = (Math.floor(left / 2 ** 24) << 4) | Math.floor(right / 2 ** 24);
  return [...low(left, 3), middle, ...low(right, 3)];
}

/** A value of the data section. */
export function encodeMmdb(value: MmdbData): number[] {
  if (typeof value === "string") {
    const octets = [...new TextEncoder().encode(value)];
    return [...head(2, octets.length), ...octets];
  }
  if (typeof value === "boolean") return head(14, value ? 1 : 0);
  if (typeof value === "number") {
    const octets: number[] = [];
    for (let left = value; left > 0; left = Math.floor(left / 256)) octets.unshift(left % 256);
    return [...head(value < 2 ** 32 ? 6 : 9, octets.length), ...octets];
  }
  if (Array.isArray(value)) return [...head(11, value.length), ...value.flatMap(encodeMmdb)];
  const members = Object.entries(value);
  return [
    ...head(7, members.length),
    ...members.flatMap(([name, member]) => [...encodeMmdb(name), ...encodeMmdb(member)]),
  ];
}

/** The control octets of a value. */
function head(type: number, size: number): number[] {
  const short = size < 29 ? size : size < 285 ? 29 : 30;
  const long = size < 29 ? [] : size < 285 ? [size - 29] : [(size - 285) >> 8, (size - 285) & 255];
  return type > 7 ? [short, type - 7, ...long] : [(type << 5) | short, ...long];
}
