import type { SyntheticEvent } from 'react'

/** What a form does once it is submitted. By itself the browser would load the page again. */
export function withoutReload(submit: () => void) {
  return (event: SyntheticEvent): void => {
    event.preventDefault()
    submit()
  }
}
