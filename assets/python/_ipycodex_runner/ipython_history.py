"""IPython's history manager over the record, which the host owns.

In: IPython's calls (`%history`, `%recall`, `%rerun`, `%macro`, `%save`, `%edit`, `%load` with ranges). Out: rows.
Invariants: this interpreter's inputs come from its own lists, all others from the record; nothing is written to any
file by IPython. Absent on purpose: IPython's database, its thread, its session numbers.
"""

import sys

from IPython.core.error import UsageError
from IPython.core.history import HistoryAccessor, HistoryManager

from . import record


class RecordedHistory(HistoryManager):
    known = (None, None)  # a request, and what the host said in it

    def init_db(self):
        """Nothing is opened before somebody asks."""

    def locate_record(self):
        """The place of the record, asked for once a request: the session may change in between. None: there is none."""
        host = sys.modules[__package__].host
        if self.known[0] != host.id:
            try:
                self.known = host.id, record.locate(host)
            except record.Unrecorded as error:
                self.known, self.why = (host.id, None), str(error)
        return self.known[1]

    @property
    def db(self):
        place = self.locate_record()
        if place is None:
            raise UsageError(self.why)
        try:
            return record.connect(place)
        except record.Unrecorded as error:
            raise UsageError(str(error)) from None

    @property
    def session_number(self):
        place = self.locate_record()
        return 0 if place is None else place.session

    def new_session(self, conn=None):
        pass

    end_session = writeout_cache = new_session

    def close(self):
        pass

    def store_inputs(self, line_num, source, source_raw=None):
        super().store_inputs(line_num, source, source_raw)
        del self.db_input_cache[:]

    def _get_range_session(self, start=1, stop=None, raw=True, output=False):
        """Lines of this session that did not run in this interpreter were prompts, or ran before it started."""
        own = list(super()._get_range_session(start, stop, raw, output))
        missing = [line for _session, line, text in own if not (text[0] if output else text)]
        earlier = {}
        if missing and self.session_number:
            rows = HistoryAccessor.get_range(self, self.session_number, missing[0], missing[-1] + 1, raw, output)
            earlier = {line: text for _session, line, text in rows}
        for session, line, text in own:
            text = earlier.get(line) if line in missing else text
            if text:
                yield session, line, text
