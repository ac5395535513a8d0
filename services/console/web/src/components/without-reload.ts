import type { SyntheticEvent } from 'react'

/** Handles the submission of a form without the browser's page load. */
export function withoutReload(submit: () => void) {
  return (event: SyntheticEvent): void => {
    event.preventDefault()
    submit()
  }
}
