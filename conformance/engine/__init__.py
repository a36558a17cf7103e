"""What every suite shares: cases, targets, expectations, the event stream and its reports."""
