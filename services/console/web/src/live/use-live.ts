import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { LiveAnswer } from '../../../src/live/api.ts'
import { getFrom } from '../app/call-api.ts'
import type { LiveSearch } from './live-search.ts'
import { followed, NOTHING_SHOWN, withAnswer } from './shown-entries.ts'

const AGAIN_AFTER_MS = 1_000

/** Asks every second for what is new, unless the page is hidden. Paused, it goes on asking, and shows nothing of it. */
export function useLive(filter: LiveSearch) {
  const cursor = useRef<string>(undefined)
  const [isPaused, setIsPaused] = useState(false)
  const [shown, setShown] = useState(NOTHING_SHOWN)
  const query = useQuery({
    queryKey: ['live', filter],
    queryFn: () => getFrom<LiveAnswer>(`live?${queryOf(filter, cursor.current)}`),
    refetchInterval: AGAIN_AFTER_MS,
    // An answer is new also where it equals the one before, and an old one is of no use.
    structuralSharing: false,
    gcTime: 0,
  })
  const { data } = query
  useEffect(() => {
    if (!data) return
    cursor.current = data.cursor ?? undefined
    setShown((now) => withAnswer(now, data, isPaused))
    // Of each answer once, whatever it was paused for since.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [data])
  return {
    shown,
    isPaused,
    pause: () => setIsPaused(true),
    follow: () => {
      setIsPaused(false)
      setShown(followed)
    },
    query,
  }
}

function queryOf({ project, event, outcome }: LiveSearch, after: string | undefined): string {
  const [organization, id] = project?.split('/') ?? []
  const given = Object.entries({ organization, project: id, event, outcome, after })
  return new URLSearchParams(given.filter((pair): pair is [string, string] => pair[1] !== undefined)).toString()
}
