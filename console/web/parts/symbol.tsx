// An icon of the sprite beside a word; inside rows of the live list use `Icon`, which costs less there.

import type { IconName } from "../line_icons.ts";
import type { SpriteIcon } from "../icons.ts";

/** The sprite's address; the build puts it in, with the hash of its content. */
declare const SPRITE_URL: string;

export function Symbol({ name, size = 16 }: { name: SpriteIcon | `line-${IconName}`; size?: number }) {
  return (
    <svg class="symbol" aria-hidden="true" width={size} height={size}>
      <use href={`${SPRITE_URL}#${name}`} />
    </svg>
  );
}
