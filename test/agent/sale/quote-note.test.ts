/** What the quote of a search says about a status that no company has, before anything is paid. */
import { expect } from 'chai'
import { operationOf } from '../../support/operations.ts'
import { SaleHarness } from '../../support/sale-harness.ts'

describe('[4.2.5] the quote of a search', () => {
  let sale: SaleHarness

  before(async () => {
    sale = await SaleHarness.open()
    await sale.import()
  })
  after(() => sale.close())

  async function quoteFor(input: object) {
    const outcome = await sale.perform(
      operationOf({ operation: 'search', input: { q: 'plain fixture', limit: 5, ...input } }),
      [],
    )
    if (outcome.kind !== 'refused') throw new Error('A request without a payment gets no answer')
    const { resource } = JSON.parse(outcome.quote?.json ?? '') as { resource: { description: string } }
    return { refusal: outcome.refusal, description: resource.description }
  }

  it('names the statuses of the dataset if no company has the status, and has no text of the request', async () => {
    const { refusal, description } = await quoteFor({ status: 'Norml<script>' })
    expect(refusal).to.deep.equal({
      code: 'payment_required',
      detail: 'no company has this status, so the answer would be empty',
      reason: 'Payment is required',
    })
    expect(description).to.match(/^Note: no company has this status.*The statuses are: Dissolved, Normal\. Up to ten/)
    expect(description.length).to.be.at.most(500)
    expect(description).not.to.include('script')
  })

  it('has no note for a status of the dataset in any case, or without a status', async () => {
    for (const input of [{}, { status: 'normal' }, { status: 'DISSOLVED' }]) {
      const { refusal, description } = await quoteFor(input)
      expect(refusal).to.deep.equal({ code: 'payment_required', reason: 'Payment is required' })
      expect(description).not.to.include('Note')
    }
  })

  it('is one without a note while the name index cannot be read', async () => {
    const { catalog } = sale.context
    const dataset = catalog.current()
    const snapshot = Object.assign(Object.create(dataset?.snapshot ?? null) as object, { folder: '/does/not/exist' })
    sale.context.catalog = {
      ...catalog,
      retrieval: () => catalog.retrieval(),
      current: () => ({ ...dataset, snapshot }) as never,
    }
    try {
      expect((await quoteFor({ status: 'Norml' })).description).not.to.include('Note')
    } finally {
      sale.context.catalog = catalog
    }
  })
})
