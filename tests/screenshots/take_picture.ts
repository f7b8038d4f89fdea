// Takes a picture of a page, and writes it as a small PNG with a palette.

import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { crc32, deflateSync, inflateSync } from "node:zlib";
import type { Page } from "../packages/playwright.ts";
import { scrollsSideways } from "../e2e/page_checks.ts";

// Reduces a screenshot to its 256 most frequent colours, and compresses it as well as deflate can (PNG, third edition).
// For screenshots of the docs, which consist of flat colours and letters.

const SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10];
const MOST_COLOURS = 256;
const AS_THEY_ARE = 48;
const NEAR_SQUARED = 250;
const RGB = 2;
const PALETTE = 3;

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Three octets per pixel, row by row. */
  readonly rgb: Uint8Array;
}

/** @throws TypeError for anything except a PNG of eight-bit RGB without interlacing. */
export function shrinkPng(octets: Uint8Array): Uint8Array<ArrayBuffer> {
  return encode(decode(octets));
}

function decode(octets: Uint8Array): Pixels {
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  if (octets[24] !== 8 || octets[25] !== RGB || octets[28] !== 0) {
    throw new TypeError("Cannot shrink the picture: it is no eight-bit RGB");
  }
  const packed: Uint8Array[] = [];
  for (let at = SIGNATURE.length; at + 8 <= octets.length; at += view.getUint32(at) + 12) {
    const isData = String.fromCharCode(...octets.subarray(at + 4, at + 8)) === "IDAT";
    if (isData) packed.push(octets.subarray(at + 8, at + 8 + view.getUint32(at)));
  }
  return { width, height, rgb: unfilter(inflateSync(Buffer.concat(packed)), { width, height }) };
}

/** PNG §9: each row declares whether its octets were predicted from the left, from above, or from both. */
function unfilter(rows: Uint8Array, { width, height }: { width: number; height: number }): Uint8Array {
  const stride = width * 3;
  const rgb = new Uint8Array(stride * height);
  for (let y = 0; y < height; y += 1) {
    const kind = rows[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x;
      const left = x < 3 ? 0 : rgb[at - 3] ?? 0;
      const above = y === 0 ? 0 : rgb[at - stride] ?? 0;
      const corner = x < 3 || y === 0 ? 0 : rgb[at - stride - 3] ?? 0;
      const guess = kind === 0
        ? 0
        : kind === 1
        ? left
        : kind === 2
        ? above
        : kind === 3
        ? (left + above) >> 1
        : nearestOf(left, above, corner);
      rgb[at] = (rows[y * (stride + 1) + 1 + x] ?? 0) + guess;
    }
  }
  return rgb;
}

/** The Paeth predictor, PNG §9.4. */
function nearestOf(...[left, above, corner]: [number, number, number]): number {
  const sum = left + above - corner;
  const [byLeft, byAbove, byCorner] = [Math.abs(sum - left), Math.abs(sum - above), Math.abs(sum - corner)];
  if (byLeft <= byAbove && byLeft <= byCorner) return left;
  return byAbove <= byCorner ? above : corner;
}

const colourAt = (rgb: Uint8Array, at: number) =>
  ((rgb[at] ?? 0) << 16) | ((rgb[at + 1] ?? 0) << 8) | (rgb[at + 2] ?? 0);

function encode({ width, height, rgb }: Pixels): Uint8Array<ArrayBuffer> {
  const counts = new Map<number, number>();
  for (let at = 0; at < rgb.length; at += 3) {
    const colour = colourAt(rgb, at);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = paletteOf([...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour));
  const places = new Map([...counts.keys()].map((colour) => [colour, nearest(palette, colour)]));
  const rows = new Uint8Array((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      rows[y * (width + 1) + 1 + x] = places.get(colourAt(rgb, (y * width + x) * 3)) ?? 0;
    }
  }
  const header = new Uint8Array(13);
  new DataView(header.buffer).setUint32(0, width);
  new DataView(header.buffer).setUint32(4, height);
  header.set([8, PALETTE], 8);
  return new Uint8Array([
    ...SIGNATURE,
    ...chunk("IHDR", header),
    ...chunk("PLTE", new Uint8Array(palette.flatMap((one) => [one >> 16, (one >> 8) & 255, one & 255]))),
    ...chunk("IDAT", deflateSync(rows, { level: 9 })),
    ...chunk("IEND", new Uint8Array()),
  ]);
}

/** The most frequent colours come first; of the others, those that are near no colour of the palette. */
function paletteOf(colours: readonly number[]): number[] {
  const palette = colours.slice(0, AS_THEY_ARE);
  for (const colour of colours.slice(AS_THEY_ARE)) {
    if (palette.length >= MOST_COLOURS) break;
    const [near = colour] = [palette[nearest(palette, colour)]];
    if (distance(near, colour) > NEAR_SQUARED) palette.push(colour);
  }
  return palette;
}

function distance(one: number, other: number): number {
  const [red = 0, green = 0, blue = 0] = [16, 8, 0].map((by) => ((one >> by) & 255) - ((other >> by) & 255));
  return red ** 2 + green ** 2 + blue ** 2;
}

/** The index of the colour in the palette, or of the nearest one. */
function nearest(palette: readonly number[], colour: number): number {
  let best = 0;
  let least = Infinity;
  for (const [at, one] of palette.entries()) {
    const differs = distance(one, colour);
    if (differs < least) [best, least] = [at, differs];
  }
  return best;
}

function chunk(name: string, data: Uint8Array): Uint8Array {
  const body = new Uint8Array([...new TextEncoder().encode(name), ...data]);
  const whole = new Uint8Array(body.length + 8);
  const view = new DataView(whole.buffer);
  view.setUint32(0, data.length);
  whole.set(body, 4);
  view.setUint32(body.length + 4, crc32(body));
  return whole;
}

// Takes one screenshot for the docs, as a small PNG.

const MAX_OCTETS = 120_000;

/** Takes the screenshot. It is small enough for a page of the docs, and the page fits the window. */
export async function takePicture(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  const octets = shrinkPng(await page.screenshot());
  assert(octets.length <= MAX_OCTETS, `${name} has ${octets.length} octets`);
  assertEquals(await scrollsSideways(page), false, name);
  await Deno.writeFile(new URL(`../../docs/images/${name}.png`, import.meta.url), octets);
  console.log(`docs/images/${name}.png is written`);
}
