/** Members of an address. A wrong one counts as absent. */
export const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

export const whole = (value: unknown, least: number, most = Infinity): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most ? value : undefined

export const hoursOf = ({ hours }: { readonly hours?: unknown }) => ({ hours: hours === 1 ? (1 as const) : undefined })
export const pageOf = ({ page }: { readonly page?: unknown }) => ({ page: whole(page, 2) })
