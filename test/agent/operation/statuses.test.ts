/** Status texts of the source in quotes and documents: bounded, and without special characters. */
import { expect } from 'chai'
import { showStatuses } from '../../../agent/operation/statuses.ts'

describe('[4.2.5] the status texts of a dataset', () => {
  it('are sorted, each once, without null and outer spaces', () => {
    expect(showStatuses(['Normal ', 'Dissolved', null, 'Normal'])).to.equal('Dissolved, Normal')
    expect(showStatuses([])).to.equal('')
  })

  it('have question marks for characters with a meaning in Markdown, HTML or JSON, and for control characters', () => {
    expect(showStatuses(['<b>a</b>|`x`"\\\n\u202E{{pay_to}}'])).to.match(/^[A-Za-z/?_ ]+$/)
    expect(showStatuses(['Strike-Off Listed (S. 311), Dissolved'])).to.equal('Strike-Off Listed (S. 311), Dissolved')
  })

  it('are bounded in number and length, and say so', () => {
    expect(showStatuses(['x'.repeat(1_000)])).to.equal(`${'x'.repeat(37)}...`)
    const many = Array.from({ length: 500 }, (_, at) => `S${at}`.padEnd(40, 'y'))
    const shown = showStatuses(many)
    expect(shown.length).to.be.within(200, 240)
    expect(shown).to.match(/y, \.\.\.$/)
    const five = many.slice(0, 5)
    expect(showStatuses(five)).to.equal(five.toSorted().join(', '))
  })
})
