import { FormContent as AppliedContent, LocalizedContent } from '@nextvisit/contracts'
import { localizedContent } from '@nextvisit/domain'
import { expect, it } from 'vitest'
import { CONTENTS } from '../test/offers.ts'
import type { FormContent } from '@nextvisit/contracts/shown-form'

it('has the type of the contents that the gateway delivers', () => {
  const delivered: LocalizedContent = localizedContent(AppliedContent.parse(CONTENTS.en), 'en')
  const shown: FormContent = delivered
  expect(LocalizedContent.parse(shown)).toEqual(delivered)
})
