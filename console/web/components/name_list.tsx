// The first names of the objects that an action changes, and how many more there are.

import { t } from "../i18n/translate.ts";

const MAX_NAMED = 10;

export function NameList({ names }: { names: readonly string[] }) {
  const more = names.length - MAX_NAMED;
  return (
    <ul class="people-consequences">
      {names.slice(0, MAX_NAMED).map((name) => (
        <li key={name}>
          <bdi>{name}</bdi>
        </li>
      ))}
      {more > 0 && <li>{t("common.and_more", { count: more })}</li>}
    </ul>
  );
}
