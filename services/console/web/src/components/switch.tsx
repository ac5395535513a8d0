export interface SwitchProps<Value> {
  /** Name of the choice, such as `Time zone`. */
  readonly label: string
  readonly options: readonly { readonly value: Value; readonly label: string }[]
  readonly chosen: Value
  readonly onChoose: (value: Value) => void
}

/** Choice among a few options, as buttons side by side. */
export function Switch<Value>({ label, options, chosen, onChoose }: SwitchProps<Value>) {
  return (
    <fieldset className="switch" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.label}
          type="button"
          aria-pressed={option.value === chosen}
          onClick={() => onChoose(option.value)}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  )
}
