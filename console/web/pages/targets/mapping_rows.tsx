// The rows of the mapping editor, in groups: an attribute, its name at the connectors, and the value of a user.

import type { Signal } from "@preact/signals";
import type { MappingPreview, OneTarget } from "../../../api/targets/target_types.ts";
import { Checkbox, Field } from "../../components/field.tsx";
import { t } from "../../i18n/translate.ts";
import {
  attributeLabel,
  canBeReadOnly,
  groupRows,
  isMisspelled,
  type MappingValues,
  type ReadOnlyByConnector,
} from "./mapping_form.ts";

/** The attributes of an input for a name. */
export const NAME_INPUT = { autocomplete: "off", spellcheck: false, maxLength: 200 } as const;

interface RowsProps {
  readonly target: OneTarget;
  readonly values: MappingValues;
  readonly preview: MappingPreview | null;
  readonly changes: Signal<MappingValues>;
  readonly readOnly: Signal<ReadOnlyByConnector>;
}

export function MappingRows(props: RowsProps) {
  const groups = groupRows(props.target.mapping);
  return (
    <>
      {groups.map(([group, rows]) => (
        <fieldset class="mapping-group" key={group}>
          <legend>{t(`targets.group_${group}`)}</legend>
          {rows.map((row) => <RowFields key={row.scim} row={row} {...props} />)}
        </fieldset>
      ))}
    </>
  );
}

/** One attribute: its name at the connectors, the user's value, and the connectors that have their own values of it. */
function RowFields(
  { target, row, values, preview, changes, readOnly }: RowsProps & {
    readonly row: OneTarget["mapping"][number];
  },
) {
  const { scim, frontEnd } = row;
  const put = (value: string) => {
    const { [scim]: _before, ...others } = changes.value;
    const isSame = value.trim() === "" ||
      target.mapping.some((one) => one.scim === scim && one.frontEnd === value.trim());
    changes.value = isSame ? others : { ...others, [scim]: value.trim() };
  };
  const name = values[scim] ?? frontEnd;
  const value = preview?.rows.find((one) => one.name === name)?.then ?? [];
  return (
    <div class="mapping-row">
      <Field
        id={`mapping-${scim}`}
        label={attributeLabel(scim)}
        hint={isMisspelled(frontEnd) ? t("targets.misspelled", { scim }) : scim}
        input={{
          ...NAME_INPUT,
          value: changes.value[scim] ?? frontEnd,
          onInput: (event) => put(event.currentTarget.value),
        }}
      />
      {preview !== null && (
        <span class="mapping-value">
          {value.length === 0
            ? <span class="quiet">{t("targets.no_value")}</span>
            : <bdi class="wrap">{value.join(", ")}</bdi>}
        </span>
      )}
      {canBeReadOnly(scim) && (
        <span class="mapping-kept">
          {Object.entries(readOnly.value).map(([backend, paths]) => (
            <Checkbox
              key={backend}
              label={t("targets.read_only_at", { backend })}
              of={attributeLabel(scim)}
              checked={paths.includes(scim)}
              onChange={(isReadOnly) => {
                const others = paths.filter((path) => path !== scim);
                readOnly.value = { ...readOnly.value, [backend]: isReadOnly ? [...others, scim] : others };
              }}
            />
          ))}
        </span>
      )}
    </div>
  );
}
