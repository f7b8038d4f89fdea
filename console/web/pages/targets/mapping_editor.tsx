// Previews a changed attribute mapping on a user, and prints the settings for it. The mapping itself is defined in the
// settings file.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { MappingPreview, OneTarget } from "../../../api/targets/target_types.ts";
import { failureText } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { Alert } from "../../components/alert.tsx";
import { CopyButton } from "../../components/button.tsx";
import { DiffTable } from "../../components/diff_table.tsx";
import { Checkbox, Field } from "../../components/field.tsx";
import { t } from "../../i18n/translate.ts";
import { previewMapping } from "./target_calls.ts";

type MappingValues = Readonly<Record<string, string>>;
/** By backend: the attributes that the gateway only reads there. */
type ReadOnlyAttributes = Readonly<Record<string, readonly string[]>>;
type MappingRow = Pick<OneTarget["mapping"][number], "scim" | "frontEnd">;

const DEBOUNCE_MS = 250;
/** Every write contains these attributes, so no backend can have its own values for them. */
const ALWAYS_WRITTEN: readonly string[] = ["id", "externalId", "userName", "active"];
const EXTRA = [
  { name: "scim", word: "targets.mapping_extra" },
  { name: "frontEnd", word: "targets.mapping_extra_to" },
] as const;
const PLAIN_INPUT = { autocomplete: "off", spellcheck: false } as const;
const NAME_INPUT = { ...PLAIN_INPUT, maxLength: 200 } as const;

export function MappingEditor({ models, target }: { models: Models; target: OneTarget }) {
  const changes = useSignal<MappingValues>({});
  /** A row for an attribute that is not in the mapping. */
  const extra = useSignal({ scim: "", frontEnd: "" });
  const user = useSignal("");
  const readOnly = useSignal(readOnlyOf(target));
  const { scim, frontEnd } = extra.value;
  const isFilled = scim !== "" && frontEnd !== "";
  const added: MappingValues = isFilled ? { [scim]: frontEnd } : {};
  const values = { ...settingsOf(target), ...changes.value, ...added };
  const { preview, problem } = useMappingPreview(models, { target: target.name, user: user.value, values });
  const isNew = isFilled && !target.mapping.some((row) => row.scim in added);
  const rows: readonly MappingRow[] = isNew ? [...target.mapping, { scim, frontEnd }] : target.mapping;
  const ownersOf = (name: string) =>
    Object.keys(readOnly.value).filter((backend) =>
      rows.some((row) =>
        (changes.value[row.scim] ?? row.frontEnd) === name && readOnly.value[backend]?.includes(row.scim)
      )
    ).join(", ");
  const isChanged = Object.keys({ ...changes.value, ...added }).length > 0;
  const toml = [
    ...(isChanged ? [mappingToml(target.name, values)] : []),
    ...readOnlyToml(target, readOnly.value),
  ].join("\n\n");
  return (
    <section class="panel people-panel" aria-label={t("targets.mapping")}>
      <h2>{t("targets.mapping")}</h2>
      <p class="quiet">{t("targets.mapping_why")}</p>
      <Field
        id="mapping-user"
        label={t("targets.mapping_user")}
        hint={t("targets.mapping_user_hint")}
        input={{
          ...PLAIN_INPUT,
          value: user.value,
          onInput: (event) => user.value = event.currentTarget.value,
        }}
      />
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
      {preview.value !== null && problem.value === null && (
        <Preview preview={preview.value} ownersOf={ownersOf} />
      )}
      <details class="connect-more">
        <summary>{t("targets.mapping_rows", { count: target.mapping.length })}</summary>
        <div class="people-fields">
          {rows.map((row, at) => (
            <RowFields
              key={row.scim}
              {...{ target, row, at, changes, readOnly }}
              isAdded={row.scim in added}
            />
          ))}
          {EXTRA.map(({ name, word }) => (
            <Field
              key={name}
              id={`mapping-extra-${name}`}
              label={t(word)}
              input={{
                ...NAME_INPUT,
                value: extra.value[name],
                onInput: (event) =>
                  extra.value = { ...extra.value, [name]: event.currentTarget.value.trim() },
              }}
            />
          ))}
        </div>
      </details>
      {toml !== "" && (
        <div class="secret">
          <Alert tone="wait">{t("targets.mapping_toml")}</Alert>
          <pre class="mono" role="group" tabIndex={0} aria-label={t("targets.mapping")}>{toml}</pre>
          <CopyButton text={toml} what={t("common.copy")} />
        </div>
      )}
    </section>
  );
}

interface PreviewQuery {
  readonly target: string;
  readonly user: string;
  readonly values: MappingValues;
}

/** Fetches the preview again after each change of the user or the values. */
function useMappingPreview(models: Models, { target, user, values }: PreviewQuery) {
  const preview = useSignal<MappingPreview | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    if (user.trim() === "") return;
    let isOutdated = false;
    const timer = setTimeout(() => {
      previewMapping(models, target, { user: user.trim(), rows: values }).then(
        (found) => {
          if (isOutdated) return;
          preview.value = found;
          problem.value = null;
        },
        (fault: unknown) => {
          if (!isOutdated) problem.value = failureText(fault);
        },
      );
    }, DEBOUNCE_MS);
    return () => {
      isOutdated = true;
      clearTimeout(timer);
    };
  }, [JSON.stringify([user, values])]);
  return { preview, problem };
}

interface PreviewProps {
  readonly preview: MappingPreview;
  /** The backends with their own values of a front-end attribute, as one text. */
  readonly ownersOf: (name: string) => string;
}

function Preview({ preview: { user, rows }, ownersOf }: PreviewProps) {
  const noteOf = (name: string) =>
    ownersOf(name) === "" ? {} : { note: t("targets.mapping_kept_by", { backend: ownersOf(name) }) };
  const differing = rows.filter(({ now, then }) => now.join("\n") !== then.join("\n"));
  return (
    <>
      <p role="status">
        {differing.length === 0
          ? t("targets.mapping_same", { name: user })
          : t("targets.mapping_differs", { name: user, count: differing.length })}
      </p>
      {differing.length > 0 && (
        <DiffTable
          label={t("targets.mapping_of", { name: user })}
          rows={differing.map(({ name, now, then }) => ({
            name,
            now: shown(now),
            after: shown(then),
            ...noteOf(name),
          }))}
        />
      )}
      <dl class="connect-facts">
        {rows.filter((row) => !differing.includes(row)).map(({ name, now }) => (
          <div key={name}>
            <dt class="mono">{name}</dt>
            <dd class="mono">
              <bdi>{shown(now)}</bdi> <span class="quiet small">{noteOf(name).note}</span>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

interface RowFieldsProps {
  readonly target: OneTarget;
  readonly row: MappingRow;
  readonly at: number;
  readonly isAdded: boolean;
  readonly changes: Signal<MappingValues>;
  readonly readOnly: Signal<ReadOnlyAttributes>;
}

/** One attribute: its name in the front end, and the backends that have their own values of it. */
function RowFields({ target, row: { scim, frontEnd }, at, isAdded, changes, readOnly }: RowFieldsProps) {
  const put = (value: string) => {
    const { [scim]: _before, ...others } = changes.value;
    const isSame = value.trim() === "" ||
      target.mapping.some((row) => row.scim === scim && row.frontEnd === value);
    changes.value = isSame ? others : { ...others, [scim]: value.trim() };
  };
  return (
    <div class="form">
      {isAdded ? <strong class="mono">{scim}</strong> : (
        <Field
          id={`mapping-${at}`}
          label={scim}
          input={{
            ...NAME_INPUT,
            value: changes.value[scim] ?? frontEnd,
            onInput: (event) => put(event.currentTarget.value),
          }}
        />
      )}
      {!ALWAYS_WRITTEN.includes(scim) &&
        Object.entries(readOnly.value).map(([backend, paths]) => (
          <Checkbox
            key={backend}
            label={t("targets.mapping_kept", { backend, attribute: scim })}
            checked={paths.includes(scim)}
            onChange={(isReadOnly) => {
              const others = paths.filter((path) => path !== scim);
              readOnly.value = { ...readOnly.value, [backend]: isReadOnly ? [...others, scim] : others };
            }}
          />
        ))}
    </div>
  );
}

const SETTING_PREFIX = "mapping.user.";

/** The rows of the mapping that the settings file has. */
function settingsOf({ settings }: OneTarget): MappingValues {
  return Object.fromEntries(
    settings.filter(({ name }) => name.startsWith(SETTING_PREFIX))
      .map(({ name, value }) => [name.slice(SETTING_PREFIX.length), value]),
  );
}

/** Without the embedded store, which is the directory itself. */
function readOnlyOf({ backends }: OneTarget): ReadOnlyAttributes {
  return Object.fromEntries(
    backends.filter(({ kind }) => kind !== "store").map(({ name, readOnly }) => [name, readOnly]),
  );
}

/** The settings of the backends whose `read_only` changed. */
function readOnlyToml(target: OneTarget, readOnly: ReadOnlyAttributes): string[] {
  const before = readOnlyOf(target);
  return Object.entries(readOnly)
    .filter(([backend, paths]) => paths.join() !== before[backend]?.join())
    .map(([backend, paths]) =>
      `[targets.${target.name}.backends.${backend}]\nread_only = ${JSON.stringify(paths)}`
    );
}

function shown(values: readonly string[]): string | null {
  return values.length === 0 ? null : values.join(", ");
}

/** As in the settings file. The name of a target needs no quotes there. */
function mappingToml(target: string, values: MappingValues): string {
  const lines = Object.entries(values).map(([scim, name]) =>
    `${JSON.stringify(scim)} = ${JSON.stringify(name)}`
  );
  return [`[targets.${target}.mapping.user]`, ...lines].join("\n");
}
