// A mapping tried on a real user: rows are edited here and nowhere else; what comes out is for the settings file.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { MappingPreview, OneTarget } from "../../../api/targets/target_types.ts";
import { failureText } from "../../api_client.ts";
import { previewMapping } from "../../models/connect_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { CopyButton } from "../copy_button.tsx";
import { DiffTable } from "../diff_table.tsx";
import { Field } from "../field.tsx";
import { Checkbox } from "../inputs.tsx";
import { Note } from "../note.tsx";

const WAIT_MS = 250;
/** What every write brings: no backend can keep it. */
const NOBODYS: readonly string[] = ["id", "externalId", "userName", "active"];
const EXTRA = [
  { name: "scim", word: "connect.mapping_extra" },
  { name: "frontEnd", word: "connect.mapping_extra_to" },
] as const;

export function MappingEditor({ models, target }: { models: Models; target: OneTarget }) {
  const changes = useSignal<Readonly<Record<string, string>>>({});
  /** A row for an attribute that has none. */
  const extra = useSignal({ scim: "", frontEnd: "" });
  const user = useSignal("");
  const preview = useSignal<MappingPreview | null>(null);
  const problem = useSignal<string | null>(null);
  const present = Object.fromEntries(
    target.settings.filter(({ name }) => name.startsWith("mapping.user."))
      .map(({ name, value }) => [name.slice("mapping.user.".length), value]),
  );
  /** What each backend keeps for itself, as it is ticked. */
  const kept = useSignal(keptOf(target));
  const { scim: extraScim, frontEnd: extraFrontEnd } = extra.value;
  const added = extraScim === "" || extraFrontEnd === "" ? {} : { [extraScim]: extraFrontEnd };
  const rows = { ...present, ...changes.value, ...added };
  const asked = JSON.stringify([user.value, rows]);
  useEffect(() => {
    if (user.value.trim() === "") return;
    let over = false;
    const timer = setTimeout(() => {
      previewMapping(models, target.name, { user: user.value.trim(), rows }).then(
        (found) => {
          if (over) return;
          preview.value = found;
          problem.value = null;
        },
        (fault: unknown) => {
          if (!over) problem.value = failureText(fault);
        },
      );
    }, WAIT_MS);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [asked]);
  const put = (scim: string, frontEnd: string) => {
    const { [scim]: _before, ...others } = changes.value;
    const isBack = frontEnd.trim() === "" ||
      target.mapping.some((row) => row.scim === scim && row.frontEnd === frontEnd);
    changes.value = isBack ? others : { ...others, [scim]: frontEnd.trim() };
  };
  const more = target.mapping.some(({ scim }) => scim in added)
    ? []
    : Object.entries(added).map(([scim, frontEnd]) => ({ scim, frontEnd }));
  const lines = [...target.mapping, ...more];
  /** Who keeps a front-end attribute for itself. */
  const keepersOf = (name: string) =>
    Object.keys(kept.value).filter((backend) =>
      lines.some(({ scim, frontEnd }) =>
        (changes.value[scim] ?? frontEnd) === name && kept.value[backend]?.includes(scim)
      )
    ).join(", ");
  const noteOf = (name: string) =>
    keepersOf(name) === "" ? {} : { note: t("connect.mapping_kept_by", { backend: keepersOf(name) }) };
  const differing = preview.value?.rows.filter(({ now, then }) => now.join("\n") !== then.join("\n")) ?? [];
  const isChanged = Object.keys({ ...changes.value, ...added }).length > 0;
  const toml = [
    ...(isChanged ? [tomlOf(target.name, rows)] : []),
    ...keptToml(target, kept.value),
  ].join("\n\n");
  return (
    <section class="panel people-panel" aria-label={t("connect.mapping")}>
      <h2>{t("connect.mapping")}</h2>
      <p class="quiet">{t("connect.mapping_why")}</p>
      <Field
        id="mapping-user"
        label={t("connect.mapping_user")}
        hint={t("connect.mapping_user_hint")}
        input={{
          value: user.value,
          autocomplete: "off",
          spellcheck: false,
          onInput: (event) => user.value = event.currentTarget.value,
        }}
      />
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {preview.value !== null && problem.value === null && (
        <>
          <p role="status">
            {differing.length === 0
              ? t("connect.mapping_same", { name: preview.value.user })
              : t("connect.mapping_differs", { name: preview.value.user, count: differing.length })}
          </p>
          {differing.length > 0 && (
            <DiffTable
              label={t("connect.mapping_of", { name: preview.value.user })}
              rows={differing.map(({ name, now, then }) => ({
                name,
                now: shown(now),
                after: shown(then),
                ...noteOf(name),
              }))}
            />
          )}
          <dl class="connect-facts">
            {preview.value.rows.filter((row) => !differing.includes(row)).map(({ name, now }) => (
              <div key={name}>
                <dt class="mono">{name}</dt>
                <dd class="mono">
                  <bdi>{shown(now)}</bdi> <span class="quiet small">{noteOf(name).note}</span>
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
      <details class="connect-more">
        <summary>{t("connect.mapping_rows", { count: target.mapping.length })}</summary>
        <div class="people-fields">
          {lines.map(({ scim, frontEnd }, at) => (
            <div key={scim} class="form">
              {scim in added ? <strong class="mono">{scim}</strong> : (
                <Field
                  id={`mapping-${at}`}
                  label={scim}
                  input={{
                    value: changes.value[scim] ?? frontEnd,
                    maxLength: 200,
                    autocomplete: "off",
                    spellcheck: false,
                    onInput: (event) => put(scim, event.currentTarget.value),
                  }}
                />
              )}
              {!NOBODYS.includes(scim) && Object.entries(kept.value).map(([backend, paths]) => (
                <Checkbox
                  key={backend}
                  label={t("connect.mapping_kept", { backend, attribute: scim })}
                  checked={paths.includes(scim)}
                  onChange={(isKept) => {
                    const others = paths.filter((path) => path !== scim);
                    kept.value = { ...kept.value, [backend]: isKept ? [...others, scim] : others };
                  }}
                />
              ))}
            </div>
          ))}
          {EXTRA.map(({ name, word }) => (
            <Field
              key={name}
              id={`mapping-extra-${name}`}
              label={t(word)}
              input={{
                value: extra.value[name],
                maxLength: 200,
                autocomplete: "off",
                spellcheck: false,
                onInput: (event) =>
                  extra.value = { ...extra.value, [name]: event.currentTarget.value.trim() },
              }}
            />
          ))}
        </div>
      </details>
      {toml !== "" && (
        <div class="secret">
          <Note tone="wait">{t("connect.mapping_toml")}</Note>
          <pre class="mono" role="group" tabIndex={0} aria-label={t("connect.mapping")}>{toml}</pre>
          <CopyButton text={toml} what={t("frame.copy")} />
        </div>
      )}
    </section>
  );
}

type KeptBy = Readonly<Record<string, readonly string[]>>;

/** By backend; the embedded store is the directory itself, and keeps nothing from it. */
function keptOf({ backends }: OneTarget): KeptBy {
  return Object.fromEntries(
    backends.filter(({ kind }) => kind !== "store").map(({ name, readOnly }) => [name, readOnly]),
  );
}

/** The lines of backends that are to keep something else than now. */
function keptToml(target: OneTarget, kept: KeptBy): string[] {
  const before = keptOf(target);
  return Object.entries(kept).filter(([backend, paths]) => paths.join() !== before[backend]?.join()).map((
    [backend, paths],
  ) => `[targets.${target.name}.backends.${backend}]\nread_only = ${JSON.stringify(paths)}`);
}

function shown(values: readonly string[]): string | null {
  return values.length === 0 ? null : values.join(", ");
}

/** As the settings file has it; a target's name needs no quotes there. */
function tomlOf(target: string, rows: Readonly<Record<string, string>>): string {
  const lines = Object.entries(rows).map(([scim, name]) =>
    `${JSON.stringify(scim)} = ${JSON.stringify(name)}`
  );
  return [`[targets.${target}.mapping.user]`, ...lines].join("\n");
}
