import { Time } from './time.tsx'

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/

/** A text of ours with its instants in the chosen zone. Not for what a user said: a value must be shown as it is. */
export function WithTimes({ text }: { readonly text: string }) {
  // Every second part is an instant.
  return text
    .split(INSTANT)
    .map((part, index) => (index % 2 === 1 ? <Time key={`${index}/${part}`} at={part} /> : part))
}
