// A translated sentence whose placeholders are elements, such as a name in bold.

import type { ComponentChildren } from "preact";
import { t } from "../web/i18n/translate.ts";
import type { MessageKey } from "../web/i18n/catalogue.ts";

interface SentenceProps {
  readonly word: MessageKey;
  /** An element for each placeholder of the sentence. */
  readonly parts: Readonly<Record<string, ComponentChildren>>;
}

export function Sentence({ word, parts }: SentenceProps) {
  // The text between placeholders has even indices, the names of placeholders have odd ones.
  return <>{t(word).split(/\{(\w+)\}/).map((text, at) => at % 2 === 0 ? text : parts[text])}</>;
}
